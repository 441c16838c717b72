// scripts/test-times reads what ctest and lit printed, and what ctest logged.
// RUN: rm -rf %t && split-file %s %t
// DEFINE: %{times} = %docs/../scripts/test-times --build %t/build
// RUN: %{times} > %t/printed
// RUN: diff %t/printed %t/logged.expected

// If several logs have a part, the last one counts. A failed test's seconds are
// negative in lit's file.
// RUN: %{times} %t/ctest.txt %t/lit.txt > %t/printed
// RUN: diff %t/printed %t/printed.expected
// RUN: not %{times} %t/none.txt 2>&1 | FileCheck %s
// CHECK: error: no part of ctest ran in these logs; run scripts/test first

//--- build/Testing/Temporary/LastTest.log
1/2 Test: layers
Command: "scripts/check-layers"
Output:
----------------------------------------------------------
<end of output>
Test time =   1.62 sec
----------------------------------------------------------
Test Passed.

2/2 Test: jax
Command: "compare.py"
Output:
----------------------------------------------------------
skipped: JAX is not installed (pip install jax)
<end of output>
Test time =   0.31 sec
----------------------------------------------------------
Test Passed.
//--- build/test/.lit_test_times.txt
1.5e+00 Passes/a.mlir
-2.0e+00 Tools/b.mlir
2.6e+00 Tools/sub/c.mlir
//--- logged.expected
| part | seconds |
| --- | --- |
| `layers` | 2 |
| `jax` | skipped |
//--- ctest.txt
 1/5 Test  #1: layers ..............................   Passed    0.75 sec
 2/5 Test  #3: names ...............................***Failed    0.98 sec
 3/5 Test #16: jax .................................***Skipped   0.33 sec
 4/5 Test  #4: lit .................................   Passed   12.50 sec
 5/5 Test #21: AlgebraTests ........................   Passed  264.07 sec
//--- lit.txt
Testing Time: 852.55s
//--- printed.expected
| part | seconds |
| --- | --- |
| `lit` | 853 |
| `lit`: `test/Tools` | 5 of one core |
| `lit`: `test/Passes` | 2 of one core |
| `AlgebraTests` | 264 |
| `layers`, `names` | less than 1 each |
| `jax` | skipped |
//--- none.txt
No tests were found!!!
