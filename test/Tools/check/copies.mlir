// Ranks have copies of an argument that differ. A result that follows from each
// rank's own copy has no cause of its own, and one that does not is judged as
// always.
// REQUIRES: tpsp-run
// RUN: split-file %s %t
// RUN: cd %t && env PYTHONPATH=%S/../Inputs python3 dumps.py

// RUN: cd %t && not tpsp-check model.mlir --numbers follows | FileCheck %s --check-prefix=FOLLOWS
// FOLLOWS: {{^}}wrong: 2 of 2 tensors, by 1 cause{{$}}
// FOLLOWS: {{^}}1. act:x: {{.*}}
// FOLLOWS: {{^}}2. act:y: right, given what each rank has of act:x{{$}}
// RUN: cd %t && not tpsp-check model.mlir --numbers first | FileCheck %s --check-prefix=FIRST
// FIRST: {{^}}wrong: 1 of 2 tensors, by 1 cause{{$}}
// FIRST-NOT: given what
// RUN: cd %t && not tpsp-check model.mlir --numbers both | FileCheck %s --check-prefix=BOTH
// BOTH: {{^}}wrong: 2 of 2 tensors, by 2 causes{{$}}
// BOTH: act:y: gain counts 2 times, once for each rank of tp{{$}}

// A gradient that follows names no collective of its own.
// RUN: cd %t && not tpsp-check sums.mlir --numbers sums | FileCheck %s --check-prefix=SUMS --implicit-check-not=all_reduce
// SUMS: {{^}}wrong: 2 of 2 tensors, by 1 cause{{$}}
// SUMS: grad:gain: right, given what each rank has of act:x{{$}}

//--- sums.mlir
tpsp.program <b = 2, s = 8> {
mesh @mesh <dp = 2 : data, tp = 2 : model>
func @f(%x: [b@dp, s], param %gain: [s]) -> [b@dp, s] {
  %y = mul %x, %gain
  return %y
}
}

//--- model.mlir
tpsp.program <s = 8> {
mesh @mesh <tp = 2 : model>
func @f(%x: [s], param %gain: [s]) -> [s] {
  %y = mul %x, %gain
  return %y
}
}

//--- dumps.py
from write_dump import write

gain = [1.0 + i for i in range(8)]
for rank in range(2):
    x = [0.5 + i * (1 + rank) for i in range(8)]
    first = [0.5 + i for i in range(8)]

    def save(folder, of, factor=1.0):
        y = [factor * a * b for a, b in zip(of, gain)]
        write(folder, rank, {"act:x": ([8], x), "param:gain": ([8], gain), "act:y": ([8], y)})

    save("follows", x)
    save("first", first)
    save("both", x, 2.0)

cot = [[0.25 + i * (1 + row) for i in range(8)] for row in range(2)]
for rank in range(4):
    row, place = divmod(rank, 2)
    rows = [[0.5 + i * (1 + place) + each for i in range(8)] for each in range(2)]
    sums = [sum(x[i] * c[i] for x, c in zip(rows, cot)) for i in range(8)]
    write("sums", rank, {"act:x": ([1, 8], rows[row]), "cot:y": ([1, 8], cot[row]), "param:gain": ([8], gain), "grad:gain": ([8], sums)})
