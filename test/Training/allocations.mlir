// A step after the first allocates nothing: a run of 40 steps allocates as
// often as one of 20, except oneDNN's packed operands.
// REQUIRES: tpsp-run

// RUN: rm -rf %t && mkdir %t
// RUN: cc -O1 -shared -fPIC -o %t/count.so %S/Inputs/count-allocations.c
// RUN: python3 %S/Inputs/write-model.py %t/m.mlir "dp = 2 : data" x.b=@dp
// RUN: tpsp-run %t/m.mlir --grad --optimizer adamw --clip 1 --optimizer-axes dp --emit %t/m.so --quiet
// DEFINE: %{train} = env LD_PRELOAD=%t/count.so tpsp-train %t/m.so --data %t/text --quiet --log-every 100 --threads 1
// RUN: %{train} --steps 20 2> %t/twenty
// RUN: %{train} --steps 40 2> %t/forty
// RUN: grep allocations %t/twenty
// RUN: diff %t/twenty %t/forty
