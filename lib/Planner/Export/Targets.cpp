// Facts of other systems: the plans that each can express. Each row has its
// source, a file of the version that its target names.
#include "tpsp/Planner/Target.h"

using namespace tpsp;
using namespace tpsp::planner;

using Known = TargetRule::Known;
using Kind = TermKind;
using Terms = const UsualTerms &;

//===----------------------------------------------------------------------===//
// Megatron-LM
//===----------------------------------------------------------------------===//

static constexpr Kind megatronInside[] = {Kind::Pipeline, Kind::Replicate,
                                          Kind::Shard,    Kind::Expert,
                                          Kind::Context,  Kind::Tensor};
static constexpr Kind megatronOutside[] = {Kind::Replicate, Kind::Pipeline,
                                           Kind::Context, Kind::Tensor};
static constexpr TargetOrder megatronOrders[] = {
    {megatronInside, ""}, {megatronOutside, "--use-tp-pp-dp-mapping"}};

static constexpr const char *megatronArguments =
    "megatron/training/arguments.py, validate_args";
static constexpr const char *megatronGroups =
    "megatron/core/parallel_state.py, initialize_model_parallel";
static constexpr const char *megatronSharded =
    "megatron/core/distributed/torch_fully_sharded_data_parallel.py";

static bool storesAnywhere(Terms plan) {
  return plan.shard > 1 || plan.contextStores;
}

/// Whether layers differ in what is rematerialised.
static bool redoesSomeLayers(Terms plan) {
  return Rematerialisation::of(plan.settings).layers > 0;
}

static constexpr const char *allOrNone =
    "give --rematerialize none or --rematerialize full";

static bool cutsHeads(Terms plan) { return !plan.dividesKeyHeads(); }

static constexpr const char *wholeHeads =
    ": {tensor} tensor ranks do not divide the {key_heads} heads of keys";
static constexpr const char *fewerRanks =
    "plan with data, context or pipeline axes besides";

static constexpr TargetRule megatronRules[] = {
    {Known::Early,
     [](Terms t) { return cutsHeads(t) && t.tensor % t.keyHeads != 0; },
     ": {tensor} tensor ranks neither divide the {key_heads} heads of keys nor "
     "are a multiple of them",
     fewerRanks, "megatron/core/transformer/transformer_config.py"},
    {Known::Early, [](Terms t) { return t.shard > 1 && t.replicate > 1; },
     "'s --use-torch-fsdp2 has one data axis, and the plan a replicated and a "
     "stored one",
     "pin one of them to size 1", megatronSharded},
    {Known::Early,
     [](Terms t) {
       return storesAnywhere(t) && (t.replicate > 1 || t.copiesState);
     },
     "'s --use-torch-fsdp2 divides parameters over data and context ranks "
     "together, and the plan over one of them",
     "plan with a context axis that stores parameters, or without it",
     megatronSharded},
    {Known::Early, [](Terms t) { return storesAnywhere(t) && t.dividesState; },
     "'s --use-torch-fsdp2 excludes --use-distributed-optimizer",
     "pin the axis that divides the state to size 1", megatronArguments},
    {Known::Early, [](Terms t) { return storesAnywhere(t) && t.pipeline > 1; },
     "'s --use-torch-fsdp2 has no pipeline stages", "give --stages 1",
     megatronArguments},
    {Known::Early, [](Terms t) { return storesAnywhere(t) && t.expert > 1; },
     "'s --use-torch-fsdp2 has no expert parallelism",
     "pin the expert axis to size 1", megatronArguments},
    {Known::Early, [](Terms t) { return storesAnywhere(t) && t.isTied; },
     "'s --use-torch-fsdp2 takes no model whose head is its embedding",
     "plan without parameters that are stored divided", megatronArguments},
    {Known::Early, [](Terms t) { return t.dividesState && t.copiesState; },
     "'s distributed optimizer divides the state over data and context ranks "
     "together, and the plan over one of them",
     "divide the state over both, or over none",
     "megatron/core/optimizer/__init__.py, data_parallel_group"},
    {Known::Early, [](Terms t) { return t.expert > 1 && t.context > 1; },
     "'s expert ranks are context ranks first",
     "pin the context axis to size 1", megatronGroups},
    {Known::Early, [](Terms t) { return t.expertDividesOthers; },
     "'s expert axis divides experts and nothing else, and the plan's other "
     "parameters, too",
     "give --for megatron, which has such axes", megatronGroups},
    {Known::Early,
     [](Terms t) {
       return t.expert > 1 && t.tensor > 1 &&
              (!t.tensorDividesExperts || !t.isSequenceParallel);
     },
     " divides experts over tensor ranks, too, and needs sequence parallelism "
     "for that",
     "pin the tensor axis on positions and on the experts' features",
     "megatron/core/model_parallel_config.py, __post_init__"},
    {Known::Early,
     [](Terms t) { return t.context > 1 && t.sequence % (2 * t.context) != 0; },
     " cuts a sequence into twice as many parts as context ranks, and "
     "{context} "
     "ranks do not divide {sequence} so",
     "give another --extent of the sequence", megatronArguments},
    {Known::Set,
     [](Terms t) { return t.pipeline > 1 && t.layers % t.chunks() != 0; },
     "'s stages have equally many layers in each chunk, and {chunks} chunks do "
     "not divide {layers}",
     "give --stages and --stage-chunks numbers that do", megatronArguments},
    {Known::Set,
     [](Terms t) {
       return t.settings.chunks > 1 &&
              t.settings.microBatches % t.pipeline != 0;
     },
     " interleaves where stages divide the micro-batches, and {pipeline} do "
     "not "
     "divide {micro_batches}",
     "plan with --stage-chunks 1",
     "megatron/core/pipeline_parallel/schedules.py, "
     "forward_backward_pipelining_with_interleaving"},
    {Known::Set,
     [](Terms t) {
       return !t.settings.schedule.empty() && t.settings.schedule != "1f1b";
     },
     " schedules stages by 1F1B alone", "plan with --stage-schedule 1f1b",
     "megatron/core/pipeline_parallel/schedules.py"},
};

static constexpr TargetNote megatronNotes[] = {
    {[](Terms t) { return t.elementBytes == 2; },
     "keeps and sums all gradients of a rank in f32, for the whole step",
     "megatron/training/arguments.py: --bf16 sets f32 gradients"},
    {[](Terms t) { return t.expert > 1 && t.dividesState; },
     "divides the state of parameters outside of experts over expert ranks, "
     "too",
     megatronGroups},
    {[](Terms t) { return t.tensor > 1; },
     "pads the vocabulary to a multiple of 128 times the tensor ranks, unless "
     "--make-vocab-size-divisible-by says otherwise",
     "megatron/training/arguments.py"},
    {[](Terms t) { return storesAnywhere(t); },
     "needs CUDA_DEVICE_MAX_CONNECTIONS other than 1 for --use-torch-fsdp2",
     megatronArguments},
    {[](Terms t) { return t.tensor > 1 && !storesAnywhere(t); },
     "overlaps collectives of tensor parallelism with "
     "CUDA_DEVICE_MAX_CONNECTIONS "
     "1 on GPUs before Blackwell",
     megatronArguments},
};

//===----------------------------------------------------------------------===//
// torchtitan
//===----------------------------------------------------------------------===//

static constexpr Kind titanKinds[] = {Kind::Pipeline, Kind::Replicate,
                                      Kind::Shard, Kind::Context, Kind::Tensor};
static constexpr TargetOrder titanOrders[] = {{titanKinds, ""}};

static constexpr const char *titanDims =
    "torchtitan/distributed/parallel_dims.py, build_mesh";
static constexpr const char *titanStages =
    "torchtitan/distributed/pipeline_parallel.py";

// Rules of both versions.
static constexpr TargetRule titanRules[] = {
    {Known::Early, cutsHeads, wholeHeads, fewerRanks,
     "torchtitan/models/common/decoder.py, update_from_config"},
    {Known::Set, redoesSomeLayers, " checkpoints all layers or every n-th",
     allOrNone, "torchtitan/distributed/activation_checkpoint.py"},
    {Known::Early, [](Terms t) { return t.dividesState; },
     " divides the optimizer's state with the parameters only",
     "plan with less --memory, or pin a stored axis", titanDims},
    {Known::Early, [](Terms t) { return t.expert > 1; },
     "'s expert axes store all other parameters divided, too, and the "
     "plan's do not",
     "pin the expert axis to size 1", titanDims},
    {Known::Early, [](Terms t) { return t.exchangesHeads; },
     "'s context parallelism exchanges no heads",
     "pin the context axis on positions of another size, or plan without "
     "it",
     "torchtitan/config, context_parallel_degree"},
    {Known::Early, [](Terms t) { return t.context > 1 && !t.contextStores; },
     "'s context ranks store parameters divided, and the plan's have "
     "copies",
     "plan with less --memory, or without a context axis", titanDims},
    {Known::Early,
     [](Terms t) {
       return t.sequence % ((t.isSequenceParallel ? t.tensor : 1) *
                            (t.context > 1 ? 2 * t.context : 1)) !=
              0;
     },
     " cuts a sequence over tensor ranks and twice the context ranks, and "
     "{sequence} is not divisible so",
     "give another --extent of the sequence",
     "torchtitan/trainer.py, seq_len_divisor"},
    {Known::Set, [](Terms t) { return t.settings.schedule == "zero-bubble"; },
     " has no schedule 'zero-bubble' of {stage_chunks} chunks a stage",
     "plan with --stage-schedule 1f1b", titanStages},
    {Known::Set,
     [](Terms t) {
       return t.settings.chunks > 1 && t.settings.schedule == "gpipe";
     },
     " has no schedule 'gpipe' of {stage_chunks} chunks a stage",
     "plan with --stage-schedule 1f1b", titanStages},
    {Known::Set,
     [](Terms t) {
       return t.settings.chunks > 1 && t.layers % t.chunks() != 0;
     },
     "'s chunks have equally many layers, and {chunks} chunks do not divide "
     "{layers}",
     "give --stage-chunks a number that does", titanStages},
    {Known::Set,
     [](Terms t) {
       int64_t rounds =
           std::max<int64_t>(1, t.settings.microBatches / t.pipeline);
       return t.settings.chunks > 1 && t.settings.microBatches % rounds != 0;
     },
     " interleaves rounds of equally many micro-batches, and {micro_batches} "
     "on {pipeline} stages are none",
     "plan with --stage-chunks 1",
     "torch/distributed/pipelining/schedules.py, "
     "ScheduleInterleaved1F1B"},
};

// Further rules of 0.2.
static constexpr TargetRule titan2Rules[] = {
    {Known::Early,
     [](Terms t) { return t.sequence % (2 * t.context * t.tensor) != 0; },
     " 0.2 wants sequences that twice the context ranks times the tensor ranks "
     "divide, and {sequence} is none",
     "give another --extent of the sequence",
     "torchtitan/distributed/parallel_dims.py, seq_len_divisor"},
    {Known::Early,
     [](Terms t) { return t.tensor > 1 && !t.isSequenceParallel; },
     " 0.2's tensor parallelism divides the sequence, too",
     "pin the tensor axis on positions", "torchtitan/models/llama3/infra"},
    {Known::Whole,
     [](Terms t) {
       return t.replicate > 1 && (t.tensor > 1 || t.pipeline > 1) &&
              t.shard == 1 && t.context == 1;
     },
     " 0.2 copies parameters over ranks only without other axes",
     "pin a stored axis", "torchtitan/models/llama3/infra/parallelize.py"},
};

static constexpr TargetNote titanNotes[] = {
    {[](Terms t) { return t.elementBytes == 2; },
     "keeps parameters in f32, and casts what it gathers or computes with",
     "torchtitan/config, mixed_precision_param"},
    {[](Terms t) { return t.settings.rematerialize == "selective"; },
     "recomputes every second product besides attention's scores",
     "torchtitan/distributed/activation_checkpoint.py"},
};

//===----------------------------------------------------------------------===//
// transformers, and modules of torch
//===----------------------------------------------------------------------===//

static constexpr Kind anyKinds[] = {Kind::Replicate, Kind::Shard, Kind::Tensor};
static constexpr Kind otherKinds[] = {Kind::Shard, Kind::Replicate,
                                      Kind::Tensor};
static constexpr Kind tensorKinds[] = {Kind::Tensor};
static constexpr TargetOrder tensorOrders[] = {{tensorKinds, ""}};
static constexpr TargetOrder torchOrders[] = {{anyKinds, ""}, {otherKinds, ""}};

static constexpr const char *hfPlan =
    "transformers/integrations/tensor_parallel.py";

static constexpr TargetRule hfRules[] = {
    {Known::Early, cutsHeads, wholeHeads, fewerRanks,
     "transformers/models/llama/modeling_llama.py, LlamaAttention"},
    {Known::Early,
     [](Terms t) { return t.data() * t.context * t.pipeline > 1; },
     "' base_model_tp_plan says tensor parallelism and nothing else",
     "--pin one axis of all devices on an index that parameters have", hfPlan},
    {Known::Whole, [](Terms t) { return t.tensor == 1; },
     "' base_model_tp_plan says tensor parallelism and nothing else",
     "--pin one axis of all devices on an index that parameters have", hfPlan},
    {Known::Early, [](Terms t) { return t.isSequenceParallel; },
     "' base_model_tp_plan leaves activations between layers whole",
     "pin no tensor axis on positions", hfPlan},
    {Known::Set,
     [](Terms t) { return t.settings.rematerialize == "selective"; },
     " checkpoints whole layers only", allOrNone,
     "transformers/modeling_utils.py, gradient_checkpointing_enable"},
    {Known::Set, redoesSomeLayers, " checkpoints all layers or none", allOrNone,
     "transformers/modeling_utils.py, gradient_checkpointing_enable"},
};

static constexpr TargetNote hfNotes[] = {
    {[](Terms t) { return t.settings.rematerialize == "full"; },
     "takes checkpointing of layers from "
     "TrainingArguments(gradient_checkpointing=True)",
     "transformers/training_args.py"},
    {[](Terms t) { return t.settings.microBatches > 1; },
     "takes micro-batches from "
     "TrainingArguments(gradient_accumulation_steps=...)",
     "transformers/training_args.py"},
    {[](Terms) { return true; },
     "runs eager kernels, which take longer than the plan's",
     "transformers/modeling_utils.py"},
};

static constexpr const char *torchApply = "python/tpsp_torch/apply.py";

static constexpr TargetRule torchRules[] = {
    {Known::Early, cutsHeads, wholeHeads, fewerRanks,
     "torch/distributed/tensor/_ops/_view_ops.py"},
    {Known::Set, redoesSomeLayers, " modules are checkpointed by your own code",
     allOrNone, "torch/utils/checkpoint.py"},
    {Known::Early, [](Terms t) { return t.pipeline > 1; },
     " modules are not cut into stages", "give --stages 1", torchApply},
    {Known::Early, [](Terms t) { return t.context > 1; },
     " modules need whole sequences", "give --pin b@dp", torchApply},
    {Known::Early, [](Terms t) { return t.expert > 1; },
     "'s fully_shard would gather the experts", "pin the expert axis to size 1",
     torchApply},
    {Known::Early, [](Terms t) { return t.dividesState; },
     "'s fully_shard divides the state with the parameters only",
     "plan with less --memory, or pin a stored axis", torchApply},
    {Known::Set,
     [](Terms t) { return t.settings.rematerialize == "selective"; },
     " modules are checkpointed layer by layer", allOrNone,
     "torch/utils/checkpoint.py"},
};

static constexpr TargetNote torchNotes[] = {
    {[](Terms t) { return t.settings.rematerialize == "full"; },
     "checkpoints no layer by itself; wrap them in torch.utils.checkpoint",
     torchApply},
    {[](Terms t) { return t.settings.microBatches > 1; },
     "takes micro-batches from your own loop", torchApply},
    {[](Terms) { return true; },
     "runs eager kernels unless torch.compile is used", torchApply},
};

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

static constexpr const char *titanOrder =
    "'s mesh has stages outside, then data axes, then context, and tensor axes "
    "inside; the plan has another order";

llvm::ArrayRef<Target> tpsp::planner::targets() {
  static const Target all[] = {
      {"megatron",
       "Megatron-LM",
       "core 0.16.1",
       "megatron",
       megatronOrders,
       "'s ranks have stages outside, then data axes, then context, and tensor "
       "axes inside; the plan has another order",
       megatronGroups,
       megatronRules,
       {},
       megatronNotes},
      {"torchtitan",
       "torchtitan",
       "0.3.0",
       "torchtitan",
       titanOrders,
       titanOrder,
       titanDims,
       titanRules,
       {},
       titanNotes},
      {"torchtitan-0.2", "torchtitan", "0.2.2", "torchtitan", titanOrders,
       titanOrder, titanDims, titanRules, titan2Rules, titanNotes},
      {"hf",
       "transformers",
       "5.24",
       "torch",
       tensorOrders,
       "' base_model_tp_plan says tensor parallelism and nothing else",
       hfPlan,
       hfRules,
       {},
       hfNotes},
      {"torch",
       "PyTorch",
       "2.15",
       "torch",
       torchOrders,
       "'s fully_shard has data axes outside, and tensor axes inside; the plan "
       "has another order",
       torchApply,
       torchRules,
       {},
       torchNotes}};
  return all;
}
