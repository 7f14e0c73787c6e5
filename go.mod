module github.com/lockbench/lockbench

go 1.26.0
