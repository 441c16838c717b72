// Refusals: one sentence, with the key and a way out.
// RUN: split-file %s %t
// DEFINE: %{refused} = not tpsp-import --sequence 8
// RUN: sed 's/"hidden_size"/"hiden_size"/' %t/good.json > %t/misspelt.json
// RUN: %{refused} %t/misspelt.json 2>&1 | FileCheck %s --check-prefix=MISSPELT
// MISSPELT: {{^}}tpsp-import: {{.*}}misspelt.json: hidden_size: is missing; 'hiden_size' (did you mean 'hidden_size'?) is not known{{$}}
// RUN: sed 's/"num_hidden_layers": 1,//' %t/good.json > %t/missing.json
// RUN: %{refused} %t/missing.json 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: num_hidden_layers: is missing{{$}}
// RUN: sed 's/"vocab_size": 11/"vocab_size": 11, "moe_gamma": 2/' %t/good.json > %t/unknown.json
// RUN: %{refused} %t/unknown.json 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: 'moe_gamma' is not known, and may change mathematics; --ignore-key KEY leaves one out of account
// RUN: tpsp-import --sequence 8 %t/unknown.json --ignore-key moe_gamma | FileCheck %s --check-prefix=IGNORED
// IGNORED: LlamaForCausalLM
// RUN: %{refused} %t/good.json --ignore-key nothing 2>&1 | FileCheck %s --check-prefix=NOKEY
// NOKEY: --ignore-key "nothing": there is no such key
// RUN: sed 's/"num_hidden_layers": 1/"num_hidden_layers": 20000/' %t/good.json > %t/deep.json
// RUN: %{refused} %t/deep.json 2>&1 | FileCheck %s --check-prefix=DEEP
// DEEP: num_hidden_layers: expected a whole number from 1 to 10000, not 20000
// RUN: sed 's/"vocab_size": 11/"vocab_size": "11"/' %t/good.json > %t/type.json
// RUN: %{refused} %t/type.json 2>&1 | FileCheck %s --check-prefix=TYPE
// TYPE: vocab_size: expected a whole number from 1 to 2147483648, not "11"
// RUN: sed 's/"vocab_size": 11/"vocab_size": 11, "vocab_size": 12/' %t/good.json > %t/twice.json
// RUN: %{refused} %t/twice.json 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: vocab_size: this key is there twice
// RUN: sed 's/"num_attention_heads": 4/"num_attention_heads": 4, "num_key_value_heads": 3/' %t/good.json > %t/heads.json
// RUN: %{refused} %t/heads.json 2>&1 | FileCheck %s --check-prefix=HEADS
// HEADS: num_key_value_heads: is 3, which does not divide the 4 of num_attention_heads
// RUN: sed 's/"hidden_size": 8/"hidden_size": 9/' %t/good.json > %t/width.json
// RUN: %{refused} %t/width.json 2>&1 | FileCheck %s --check-prefix=WIDTH
// WIDTH: hidden_size: is 9, which the 4 of num_attention_heads do not divide
// RUN: sed 's/"model_type": "llama"/"model_type": "llama", "architectures": ["GPT2LMHeadModel"]/' %t/good.json > %t/both.json
// RUN: %{refused} %t/both.json 2>&1 | FileCheck %s --check-prefix=BOTH
// BOTH: architectures: says GPT2LMHeadModel, but model_type 'llama' is LlamaForCausalLM
// RUN: sed 's/"llama"/"bert"/' %t/good.json > %t/bert.json
// RUN: %{refused} %t/bert.json 2>&1 | FileCheck %s --check-prefix=BERT
// BERT: model of model_type 'bert' is not known; known are LlamaForCausalLM, MistralForCausalLM,
// RUN: sed 's/"llama"/"falcon", "architectures": ["FalconForCausalLM"]/' %t/good.json > %t/falcon.json
// RUN: %{refused} %t/falcon.json 2>&1 | FileCheck %s --check-prefix=FALCON
// FALCON: model FalconForCausalLM is not known; known are LlamaForCausalLM
// RUN: sed 's/"rope_theta": 100/"rope_theta": 100, "rope_parameters": {"rope_theta": 200}/' %t/good.json > %t/theta.json
// RUN: %{refused} %t/theta.json 2>&1 | FileCheck %s --check-prefix=THETA
// THETA: rope_theta: is 100, but rope_parameters says 200
// RUN: sed 's/"rope_theta": 100/"rope_scaling": {"rope_type": "dynamic", "factor": 2}/' %t/good.json > %t/dynamic.json
// RUN: %{refused} %t/dynamic.json 2>&1 | FileCheck %s --check-prefix=DYNAMIC
// DYNAMIC: rope_scaling.rope_type: expected one of default, linear, llama3, yarn, not "dynamic"
// RUN: sed 's/"rope_theta": 100/"attention_dropout": 1.5/' %t/good.json > %t/dropout.json
// RUN: %{refused} %t/dropout.json 2>&1 | FileCheck %s --check-prefix=DROPOUT
// DROPOUT: attention_dropout: is 1.5; a rate of dropout is at least 0 and below 1
// Keys whose usual value has no effect; other values are refused.
// DEFINE: %{key} = unset
// DEFINE: %{lacks} = sed 's/"rope_theta": 100/"%{key}": true/; s/"llama"/"phi3"/' %t/good.json > %t/key.json && %{refused} %t/key.json 2>&1 | FileCheck %s -DKEY=%{key} --check-prefix=LACKS
// LACKS: [[KEY]]: is true, and a {{.*}} is not there yet; only false is imported
// REDEFINE: %{key} = use_mrope
// RUN: %{lacks}
// REDEFINE: %{key} = rope_interleaved
// RUN: %{lacks}
// REDEFINE: %{key} = attention_bias
// RUN: %{lacks}
// REDEFINE: %{key} = mlp_bias
// RUN: %{lacks}
// REDEFINE: %{key} = lm_head_bias
// RUN: %{lacks}
// RUN: sed 's/"llama"/"mistral", "num_key_value_heads": 4, "sliding_window": -7/' %t/good.json > %t/window.json
// RUN: %{refused} %t/window.json 2>&1 | FileCheck %s --check-prefix=WINDOW
// WINDOW: sliding_window: {{.*}}-7
// RUN: sed 's/"llama"/"mixtral", "num_key_value_heads": 4, "num_local_experts": 4, "num_experts_per_tok": 5/' %t/good.json > %t/experts.json
// RUN: %{refused} %t/experts.json 2>&1 | FileCheck %s --check-prefix=EXPERTS
// EXPERTS: num_experts_per_tok: is 5, of 4 experts{{$}}
// RUN: sed 's/"rope_theta": 100/"rms_norm_eps": -1/' %t/good.json > %t/eps.json
// RUN: %{refused} %t/eps.json 2>&1 | FileCheck %s --check-prefix=EPS
// EPS: rms_norm_eps: expected a number from 0 on, not -1{{$}}
// RUN: sed 's/"llama"/"gemma2", "num_key_value_heads": 4, "query_pre_attn_scalar": 0/' %t/good.json > %t/scalar.json
// RUN: %{refused} %t/scalar.json 2>&1 | FileCheck %s --check-prefix=SCALAR
// SCALAR: query_pre_attn_scalar: expected a number above 0, not 0{{$}}
// RUN: sed 's/"llama"/"gemma2", "num_key_value_heads": 4, "attn_logit_softcapping": -3/' %t/good.json > %t/cap.json
// RUN: %{refused} %t/cap.json 2>&1 | FileCheck %s --check-prefix=CAP
// CAP: attn_logit_softcapping: expected a number above 0, not -3{{$}}
// RUN: sed 's/"rope_theta": 100/"rope_scaling": {"type": "yarn", "factor": 4, "original_max_position_embeddings": 0}/' %t/good.json > %t/trained.json
// RUN: %{refused} %t/trained.json 2>&1 | FileCheck %s --check-prefix=TRAINED
// TRAINED: rope_scaling.original_max_position_embeddings: expected a number above 0, not 0{{$}}
// RUN: sed 's/"rope_theta": 100/"rope_scaling": {"type": "yarn", "factor": 4, "original_max_position_embeddings": 16, "beta_fast": 1, "beta_slow": 32}/' %t/good.json > %t/betas.json
// RUN: %{refused} %t/betas.json 2>&1 | FileCheck %s --check-prefix=BETAS
// BETAS: rope_scaling.beta_fast: is 1, which is below the 32 of beta_slow{{$}}
// RUN: sed 's/"rope_theta": 100/"rope_theta": 2, "rope_scaling": {"type": "yarn", "factor": 4, "original_max_position_embeddings": 1e-3}/' %t/good.json > %t/turns.json
// RUN: %{refused} %t/turns.json 2>&1 | FileCheck %s --check-prefix=TURNS
// TURNS: rope_scaling.original_max_position_embeddings: is 0.001, in which no pair of 2 features makes from 1 to 32 turns{{$}}
// RUN: sed 's/"rope_theta": 100/"rope_scaling": {"type": "linear", "rope_type": "default", "factor": 2}/' %t/good.json > %t/types.json
// RUN: %{refused} %t/types.json 2>&1 | FileCheck %s --check-prefix=TYPES
// TYPES: rope_scaling.type: is 'linear', but rope_type is 'default'{{$}}
// RUN: sed 's/"llama"/7/' %t/good.json > %t/seven.json
// RUN: %{refused} %t/seven.json 2>&1 | FileCheck %s --check-prefix=SEVEN
// SEVEN: model_type: expected a string, not 7{{$}}

// RUN: %{refused} %t/good.json --place tp-zz 2>&1 | FileCheck %s --check-prefix=PLACE
// PLACE: --place knows no 'zz'; a strategy is made of pp, dp, fsdp, cp, ep, tp, sp, with '-' between: tp-sp-fsdp
// RUN: %{refused} %t/good.json --place pp-tp-pp 2>&1 | FileCheck %s --check-prefix=AGAIN
// AGAIN: --place has 'pp' twice, and one axis @pp; name each part once
// RUN: %{refused} %t/good.json --place tp --mesh dp=2 2>&1 | FileCheck %s --check-prefix=AXIS
// AXIS: --mesh 'dp=2' is not AXIS=RANKS of an axis that --place has; it has tp{{$}}
// RUN: %{refused} %t/good.json --place tp --mesh tp=0 2>&1 | FileCheck %s --check-prefix=NORANKS
// RUN: %{refused} %t/good.json --place tp --mesh tp=2x 2>&1 | FileCheck %s --check-prefix=NORANKS
// NORANKS: --mesh 'tp={{0|2x}}' gives @tp no ranks from 1 on, as tp=4 does
// RUN: %{refused} %t/good.json --mesh tp=2 2>&1 | FileCheck %s --check-prefix=NOPLACE
// NOPLACE: --mesh needs --place, which says what each axis divides
// RUN: %{refused} %t/good.json --place tp --mesh tp=3 2>&1 | FileCheck %s --check-prefix=RANKS
// RANKS: --mesh tp=3 cannot divide 4 key/value heads of 1 query head each; 2 and 4 work;
// RUN: %{refused} %t/good.json --place fsdp-ddp --batch 2 2>&1 | FileCheck %s --check-prefix=BATCH
// BATCH: --place puts b on @dp@fsdp, 4 ranks, which do not divide --batch 2; a multiple of 4 works
// RUN: %{refused} %t/good.json --place cp --mesh cp=3 2>&1 | FileCheck %s --check-prefix=SHARDS
// SHARDS: --place puts s on @cp, 3 ranks, which do not divide --sequence 8; a multiple of 3 works
// RUN: %{refused} %t/good.json --place fsdp-ddp --mesh dp=4294967296,fsdp=4294967296 --batch 2 2>&1 | FileCheck %s --check-prefix=MANY
// MANY: --place puts b on @dp@fsdp, 9223372036854775807 ranks, which do not divide --batch 2
// Indices that axes do not divide, with all --pad that is needed.
// RUN: %{refused} %t/good.json --place tp-sp 2>&1 | FileCheck %s --check-prefix=WORDS
// WORDS: --place puts e on @tp, 2 ranks, which do not divide its 5; import for tp=1, and run with --mesh tp=2 --pad e=2,v=2{{$}}
// RUN: sed 's/"hidden_size": 8/"hidden_size": 9, "num_key_value_heads": 1, "head_dim": 2/' %t/good.json > %t/odd.json
// RUN: %{refused} %t/odd.json --place tp-fsdp --batch 2 --mesh tp=4 2>&1 | FileCheck %s --check-prefix=WIDE
// WIDE: --place puts d on @fsdp, 2 ranks, which do not divide its 9; import for fsdp=1, and run with --mesh fsdp=2 --pad d=2{{$}}
// RUN: %{refused} %t/odd.json --place tp --mesh tp=4 2>&1 | FileCheck %s --check-prefix=COPIES
// COPIES: --place puts e on @tp@rep, 4 ranks, which do not divide its 5; import for tp=1, and run with --mesh tp=4 --pad e=4,v=4,g=4{{$}}
// RUN: %{refused} %t/good.json --layers 2 2>&1 | FileCheck %s --check-prefix=LAYERS
// LAYERS: --layers 2 is more than the model's 1
// RUN: %{refused} %t/good.json --dtype int8 2>&1 | FileCheck %s --check-prefix=DTYPE
// DTYPE: --dtype 'int8' is none of f32, bf16 and f16
// RUN: %{refused} %t/good.json --expert-blocks 2 2>&1 | FileCheck %s --check-prefix=NOEXPERTS
// RUN: %{refused} %t/good.json --capacity-factor 1.25 2>&1 | FileCheck %s --check-prefix=NOEXPERTS
// RUN: %{refused} %t/good.json --capacity-factor 0 2>&1 | FileCheck %s --check-prefix=NOFACTOR
// RUN: %{refused} %t/good.json --capacity-factor -1 2>&1 | FileCheck %s --check-prefix=NOFACTOR
// NOFACTOR: --capacity-factor {{0|-1}} is not above 0; without it nothing is dropped
// NOEXPERTS: --{{expert-blocks|capacity-factor}} is about experts, and the model has none; leave it out
// RUN: %{refused} %s 2>&1 | FileCheck %s --check-prefix=SYNTAX
// SYNTAX: refusals.mlir: not JSON: line 1, column 1: found {{.*}}, which is no JSON value here
// RUN: sed 's/"rope_theta": 100/"rope_theta": 100,/' %t/good.json > %t/comma.json
// RUN: %{refused} %t/comma.json 2>&1 | FileCheck %s --check-prefix=COMMA
// COMMA: not JSON: line 3, column 20{{.*}}: found 
// RUN: echo '[1, 2]' > %t/list.json && %{refused} %t/list.json 2>&1 | FileCheck %s --check-prefix=LIST
// LIST: list.json: expected an object, not [1,2]
// RUN: %{refused} %t/nowhere 2>&1 | FileCheck %s --check-prefix=NOFILE
// NOFILE: cannot read '{{.*}}nowhere': No such file or directory
// RUN: %S/../Tools/Inputs/exits 2 tpsp-import %t/good.json 2>&1 | FileCheck %s --check-prefix=USAGE
// USAGE: {{^}}tpsp-import: --sequence is required
// RUN: %S/../Tools/Inputs/exits 2 tpsp-import %t/good.json --sequence 5 --layers 0 2>&1 | FileCheck %s --check-prefix=NOLAYERS
// NOLAYERS: {{^}}tpsp-import: --layers: expected a number above 0, not '0'{{$}}
// RUN: %S/../Tools/Inputs/exits 2 tpsp-import %t/good.json --sequence 5 --head tail 2>&1 | FileCheck %s --check-prefix=HEAD
// HEAD: {{^}}tpsp-import: --head: tail not in {loss,logits}{{$}}

// By default the program is printed to standard output.
// RUN: cd %t && tpsp-import good.json --sequence 8 -o - > dash.mlir && tpsp-import good.json --sequence 8 | diff - dash.mlir && test ! -e ./-

//--- good.json
{"model_type": "llama", "hidden_size": 8, "intermediate_size": 5,
 "num_hidden_layers": 1, "num_attention_heads": 4, "vocab_size": 11,
 "rope_theta": 100}
