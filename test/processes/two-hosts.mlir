// A block across two hosts, which are network namespaces with a slow link
// between them: verified, and equal byte for byte to threads.
// REQUIRES: mpi, network-namespaces, tpsp-run

// RUN: timeout 1200 %two_hosts --rate 300mbit tpsp-run %examples/gpt-block-sp.mlir --mesh tp=2 --grad --verify --quiet --threads 1 --save-all %t.hosts
// RUN: tpsp-run %examples/gpt-block-sp.mlir --mesh tp=2 --grad --quiet --threads 1 --save-all %t.threads
// RUN: cmp %t.hosts %t.threads

// With collectives during the computation.
// RUN: timeout 1200 %two_hosts --rate 300mbit tpsp-run %examples/fsdp.mlir --mesh fsdp=2 --grad --verify --quiet --threads 1 --overlap on

// They are two hosts.
// RUN: timeout 1200 %two_hosts hostname | sort | FileCheck %s --check-prefix=HOSTS
// HOSTS: tpsp-far
// HOSTS-NEXT: tpsp-near

// A link that is cut in mid-step ends the run. (mpirun must first find out that
// it cannot reach the other host, either. If it does so before the ten seconds
// are over, it ends the processes.)
// RUN: not timeout 1200 %two_hosts TpspProcessFaults cuts 0 2>&1 | FileCheck %s --check-prefix=CUT --implicit-check-not="run: "
// CUT: TpspProcessFaults: rank 0: %gathered: {{waited 10.0 s|a process has ended or was ended, while this one waited}} for rank 1 (in another process)
// RUN: not pgrep -x TpspProcessFau

// RUN: not timeout 1200 %two_hosts --delay 1 true 2>&1 | FileCheck %s --check-prefix=OPTION
// OPTION: unknown option --delay; there is --rate
