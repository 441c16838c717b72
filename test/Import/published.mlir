// Published configurations: the number of parameters is as published. The whole
// model compiles and is predicted in 10 seconds of processor time.
// REQUIRES: tpsp-run
// RUN: mkdir -p %t
// DEFINE: %{model} = unset
// DEFINE: %{parameters} = unset
// DEFINE: %{sequence} = 4096
// DEFINE: %{count} = tpsp-import %S/Inputs/published/%{model}.json --sequence 1 --count | grep -x %{parameters}
// DEFINE: %{hardware} = h100-sxm
// DEFINE: %{place} = unset
// DEFINE: %{import} = tpsp-import %S/Inputs/published/%{model}.json --sequence %{sequence} --dtype bf16 %{place} -o %t/m.mlir
// DEFINE: %{simulate} = bash -c "ulimit -t 10; tpsp-run %t/m.mlir --grad --simulate --hardware %{hardware} || test $? = 3" | FileCheck %s --check-prefix=STEP
// STEP: {{^}}step {{.*}} peak memory

// As downloaded: keys without effect are known.
// REDEFINE: %{model} = qwen2.5-0.5b
// REDEFINE: %{parameters} = 494032768
// RUN: %{count}
// REDEFINE: %{model} = phi-4
// REDEFINE: %{parameters} = 14659507200
// RUN: %{count}
// REDEFINE: %{model} = smollm2-135m
// REDEFINE: %{parameters} = 134515008
// RUN: %{count}

// REDEFINE: %{model} = gpt2-xl
// REDEFINE: %{parameters} = 1557611200
// REDEFINE: %{sequence} = 1024
// REDEFINE: %{place} = --batch 8 --place ddp --mesh dp=8
// RUN: %{count}
// RUN: %{import}
// RUN: %{simulate}

// REDEFINE: %{model} = llama-3.1-8b
// REDEFINE: %{parameters} = 8030261248
// REDEFINE: %{sequence} = 8192
// REDEFINE: %{place} = --place tp-sp --mesh tp=8
// RUN: %{count}
// RUN: %{import}
// RUN: %{simulate}

// REDEFINE: %{model} = gemma-2-27b
// REDEFINE: %{parameters} = 27227128320
// REDEFINE: %{sequence} = 4096
// RUN: %{count}
// RUN: %{import}
// RUN: %{simulate}

// REDEFINE: %{model} = llama-3.1-70b
// REDEFINE: %{parameters} = 70553706496
// REDEFINE: %{hardware} = h100-sxm-2node
// REDEFINE: %{sequence} = 8192
// REDEFINE: %{place} = --batch 2 --place tp-sp-fsdp --mesh tp=8
// RUN: %{count}
// RUN: %{import}
// RUN: %{simulate}

// REDEFINE: %{model} = llama-3.1-405b
// REDEFINE: %{parameters} = 405853388800
// RUN: %{count}
// RUN: %{import}
// RUN: %{simulate}

// REDEFINE: %{model} = mixtral-8x7b
// REDEFINE: %{parameters} = 46702792704
// REDEFINE: %{sequence} = 4096
// REDEFINE: %{place} = --batch 8 --place tp-sp-ep --mesh ep=8 --capacity-factor 1.25
// RUN: %{count}
// RUN: %{import}
// RUN: %{simulate}

// REDEFINE: %{model} = qwen3-235b-a22b
// REDEFINE: %{parameters} = 235093634560
// RUN: %{count}
// RUN: %{import}
// RUN: %{simulate}

// Its weights are published in 8 bits, and are counted as they are imported.
// REDEFINE: %{model} = deepseek-v3
// REDEFINE: %{parameters} = 671026419200
// REDEFINE: %{place} = --ignore-key quantization_config --batch 8 --place tp-sp-ep --mesh ep=8 --capacity-factor 1.25
// RUN: not tpsp-import %S/Inputs/published/deepseek-v3.json --sequence 1 --count 2>&1 | FileCheck %s --check-prefix=QUANTISED
// QUANTISED: 'quantization_config' is not known
// RUN: tpsp-import %S/Inputs/published/deepseek-v3.json --ignore-key quantization_config --sequence 1 --count | grep -x %{parameters}
// RUN: %{import}
// RUN: %{simulate}
