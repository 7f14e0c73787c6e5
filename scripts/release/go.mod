// Module release tests scripts/release.sh. It is one of its own, so that its builds do not run beside the other tests.
module github.com/lockbench/lockbench/scripts/release

go 1.26.0
