package all

import _ "github.com/lockbench/lockbench/drivers/memory"
