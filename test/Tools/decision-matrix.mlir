// The tables of docs/Planner.md, and every night of docs/DecisionMatrix.md, have
// the planner's choices, row by row, and its times. The other pages are ctest's
// `pages`.
// REQUIRES: tpsp-run
// RUN: %make_pages --check --slow %docs/Planner.md | FileCheck %s
// RUN: %if nightly %{%make_pages --check --slow %docs/DecisionMatrix.md | FileCheck %s --check-prefix=MATRIX%}
//
// A table that is not found would never be stale.
// CHECK: {{^2 made, 0 stale$}}
// MATRIX: {{^3 made, 0 stale$}}
