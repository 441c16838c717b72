// What overlap hides of whole models, and that its memory is bounded.
// REQUIRES: tpsp-run
// RUN: python3 %S/Inputs/whole-models.py tpsp-run %examples %S/../../hardware %t.models 8b 70b
