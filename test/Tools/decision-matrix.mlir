// The tables of docs/DecisionMatrix.md and docs/Planner.md have the planner's
// choices, row by row, and its times. The other pages are ctest's `pages`.
// REQUIRES: tpsp-run
// RUN: %make_pages --check --slow %docs/DecisionMatrix.md %docs/Planner.md | FileCheck %s
//
// A table that is not found would never be stale.
// CHECK: {{^4 made, 0 stale$}}
