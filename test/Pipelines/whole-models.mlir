// The communication that overlap hides in whole models, and its memory.
// REQUIRES: tpsp-run
// RUN: python3 %S/Inputs/whole-models.py tpsp-run %examples %S/../../hardware %t.models 8b 70b
