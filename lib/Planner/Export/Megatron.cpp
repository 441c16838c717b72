// Megatron-LM's command line.
#include "Writers.h"

#include "llvm/ADT/StringExtras.h"

#include <fmt/format.h>

using namespace tpsp;
using namespace tpsp::planner;

using Flags = std::vector<std::string>;

static void addDegrees(const ExportedPlan &plan, Flags &flags) {
  const UsualTerms &terms = plan.terms;
  auto degree = [&](const char *flag, int64_t degree) {
    if (degree > 1)
      flags.push_back(fmt::format("{} {}", flag, degree));
  };
  flags.push_back(fmt::format("--tensor-model-parallel-size {}", terms.tensor));
  flags.push_back(fmt::format("--context-parallel-size {}", terms.context));
  degree("--pipeline-model-parallel-size", terms.pipeline);
  degree("--expert-model-parallel-size", terms.expert);
  if (terms.settings.chunks > 1)
    flags.push_back(fmt::format("--num-layers-per-virtual-pipeline-stage {}",
                                terms.layers / terms.chunks()));
  // As the plan is judged: keys and values are gathered or go around a ring, or
  // heads are exchanged.
  if (terms.context > 1)
    flags.emplace_back(terms.exchangesHeads ? "--cp-comm-type a2a"
                       : terms.ring         ? "--cp-comm-type p2p"
                                            : "--cp-comm-type all_gather");
  if (terms.isSequenceParallel)
    flags.emplace_back("--sequence-parallel");
  std::string order = meshOrderOf(plan.target, terms)->flag;
  if (!order.empty())
    flags.push_back(order);
}

static void addBatch(const UsualTerms &terms, Flags &flags) {
  flags.push_back(fmt::format("--micro-batch-size {}", terms.localBatch()));
  flags.push_back(fmt::format("--global-batch-size {}", terms.batch));
  flags.push_back(fmt::format("--seq-length {}", terms.sequence));
}

static void addPrecision(const StepTerms &step, Flags &flags) {
  if (step.dtype == "bf16")
    flags.emplace_back("--bf16");
  if (step.dtype == "f16")
    flags.emplace_back("--fp16");
  if (step.dtype == "f16" && step.reduceDtype == "f32")
    flags.emplace_back("--accumulate-allreduce-grads-in-fp32");
}

static void addUpdate(const StepTerms &step, Flags &flags) {
  if (step.optimizer == "none")
    return;
  flags.push_back("--optimizer " +
                  (step.optimizer == "adamw" ? "adam" : step.optimizer));
  flags.push_back(fmt::format("--clip-grad {}", step.clip));
}

/// How gradients and parameters travel along data and context axes.
static void addData(const UsualTerms &terms, const StepTerms &step,
                    Flags &flags) {
  if (terms.shard > 1 || terms.contextStores) {
    flags.emplace_back("--use-torch-fsdp2");
    flags.emplace_back("--no-gradient-accumulation-fusion");
    flags.emplace_back("--untie-embeddings-and-output-weights");
    flags.emplace_back("--ckpt-format torch_dist");
    return;
  }
  if (terms.data() * terms.context == 1)
    return;
  constexpr int64_t gradientBytes = 4; // gradients are in f32
  if (terms.dividesState)
    flags.emplace_back("--use-distributed-optimizer");
  if (!step.overlaps)
    return;
  flags.emplace_back("--overlap-grad-reduce");
  flags.push_back(
      fmt::format("--ddp-bucket-size {}",
                  std::max<int64_t>(step.bucketBytes / gradientBytes, 1)));
  if (terms.dividesState)
    flags.emplace_back("--overlap-param-gather");
}

static void addRecomputation(const Settings &settings, Flags &flags) {
  auto [mode, layers] = Rematerialisation::of(settings);
  if (mode != "none")
    flags.push_back("--recompute-granularity " + mode);
  if (mode == "selective")
    flags.emplace_back("--recompute-modules core_attn");
  if (mode == "full")
    flags.push_back(
        layers > 0
            ? fmt::format("--recompute-method block --recompute-num-layers {}",
                          layers)
            : "--recompute-method uniform --recompute-num-layers 1");
}

std::string tpsp::planner::megatronFlags(const ExportedPlan &plan) {
  Flags flags;
  const StepTerms &step = plan.options.step;
  addDegrees(plan, flags);
  addBatch(plan.terms, flags);
  addPrecision(step, flags);
  addUpdate(step, flags);
  addData(plan.terms, step, flags);
  addRecomputation(plan.terms.settings, flags);
  if (step.cutsProducts && plan.terms.isSequenceParallel)
    flags.emplace_back("--tp-comm-overlap");
  return "PLAN_ARGS=(\n  " + llvm::join(flags, "\n  ") + "\n)\n";
}
