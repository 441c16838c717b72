// Nothing is quadratic in the program: chains of operations on elements, parameters, many uses of one
// input, repeated layers. Work is counted in instructions, which the machine's load does not change.
// REQUIRES: tpsp-run, valgrind
// RUN: %python %S/Inputs/growth.py chain 100 tpsp-opt @ --tpsp-explain
// RUN: %if nightly %{ %python %S/Inputs/growth.py layers 150 tpsp-opt @ --tpsp-explain %}
