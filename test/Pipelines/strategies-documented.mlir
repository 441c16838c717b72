// What the pages of docs/strategies show of --tpsp-explain is what it prints.
// DEFINE: %{example} =
// DEFINE: %{options} =
// DEFINE: %{explain} = tpsp-opt %examples/%{example}.mlir %{options} --tpsp-explain -o /dev/null | sed 's,(/[^ ]*/examples/,(examples/,'
// DEFINE: %{page} =
// DEFINE: %{shown} = sed -n '/^```text$/,/^```$/p' %examples/../docs/strategies/%{page}.md | grep -v -e '^```' -e '^  \.\.\.$'
//
// RUN: rm -f %t.real %t.shown
// REDEFINE: %{example} = ddp
// RUN: %{explain} >> %t.real
// REDEFINE: %{example} = fsdp
// RUN: %{explain} >> %t.real
// REDEFINE: %{example} = zero2
// RUN: %{explain} >> %t.real
// REDEFINE: %{example} = hsdp
// RUN: %{explain} >> %t.real
// REDEFINE: %{example} = tp
// RUN: %{explain} >> %t.real
// REDEFINE: %{example} = tp-sp
// RUN: %{explain} >> %t.real
// REDEFINE: %{example} = tp-dp
// RUN: %{explain} >> %t.real
// REDEFINE: %{example} = tp-sp-fsdp
// RUN: %{explain} >> %t.real
// REDEFINE: %{example} = gqa-replicated
// RUN: %{explain} >> %t.real
// REDEFINE: %{example} = mqa
// RUN: %{explain} >> %t.real
// REDEFINE: %{example} = cp-attention
// RUN: %{explain} >> %t.real
// REDEFINE: %{example} = ddp-cp
// RUN: %{explain} >> %t.real
// REDEFINE: %{example} = vocab-parallel
// RUN: %{explain} >> %t.real
// REDEFINE: %{example} = sp-dropout
// RUN: %{explain} >> %t.real
// REDEFINE: %{example} = moe-ep
// RUN: %{explain} >> %t.real
// REDEFINE: %{options} = --tpsp-set-mesh=sizes=ep=4,tp=1
// RUN: %{explain} >> %t.real
// REDEFINE: %{example} = moe-dropless
// REDEFINE: %{options} =
// RUN: %{explain} >> %t.real
//
// REDEFINE: %{page} = ddp
// RUN: %{shown} >> %t.shown
// REDEFINE: %{page} = fsdp
// RUN: %{shown} >> %t.shown
// REDEFINE: %{page} = zero2
// RUN: %{shown} >> %t.shown
// REDEFINE: %{page} = hsdp
// RUN: %{shown} >> %t.shown
// REDEFINE: %{page} = tp
// RUN: %{shown} >> %t.shown
// REDEFINE: %{page} = tp-dp
// RUN: %{shown} >> %t.shown
// REDEFINE: %{page} = tp-sp-fsdp
// RUN: %{shown} >> %t.shown
// REDEFINE: %{page} = gqa
// RUN: %{shown} >> %t.shown
// REDEFINE: %{page} = mqa
// RUN: %{shown} >> %t.shown
// REDEFINE: %{page} = cp-attention
// RUN: %{shown} >> %t.shown
// REDEFINE: %{page} = ddp-cp
// RUN: %{shown} >> %t.shown
// REDEFINE: %{page} = vocab-parallel
// RUN: %{shown} >> %t.shown
// REDEFINE: %{page} = moe-ep
// RUN: %{shown} >> %t.shown
// REDEFINE: %{page} = sp-dropout
// RUN: %{shown} >> %t.shown
//
// Sixteen programs are shown with their totals, and no line that none of them prints.
// RUN: grep -c '^totals' %t.shown | FileCheck %s
// RUN: not grep -vxFf %t.real %t.shown
// CHECK: {{^}}16{{$}}
