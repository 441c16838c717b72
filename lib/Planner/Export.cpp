#include "AxesJson.h"

#include "tpsp/Planner/Export.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <fmt/format.h>

using namespace tpsp;
using namespace tpsp::planner;
using Json = nlohmann::ordered_json;

//===----------------------------------------------------------------------===//
// A plan in the usual terms
//===----------------------------------------------------------------------===//

namespace {

/// Degrees of parallelism in other systems' terms. `problem` says what cannot
/// be expressed.
struct UsualTerms {
  int64_t tensor = 1, context = 1, expert = 1, replicate = 1, shard = 1,
          pipeline = 1;
  /// isSequenceParallel: the tensor axis divides activations, too.
  /// dividesState: the data axis divides only the state. exchangesHeads: the
  /// context axis divides heads within attention.
  bool isSequenceParallel = false, dividesState = false, exchangesHeads = false;
  /// From the outermost to the innermost: "shard", "context", ...
  std::vector<std::string> order;
  std::string problem;

  /// The number of parts of the batch. Ranks of different experts have samples
  /// of their own.
  int64_t data() const { return replicate * shard * expert; }
};

class ReadTerms {
public:
  ReadTerms(const Candidate &candidate, const ProgramFacts &facts,
            const ExportOptions &options)
      : candidate(candidate), facts(facts), options(options) {}

  UsualTerms read() {
    for (const CandidateAxis &axis : candidate.axes)
      if (axis.size > 1 && terms.problem.empty())
        read(axis);
    return terms;
  }

private:
  void read(const CandidateAxis &axis) {
    if (axis.use.role == AxisRole::Stage)
      set(terms.pipeline, axis, "pipeline");
    else if (axis.use.role == AxisRole::Model)
      readModel(axis);
    else
      readData(axis);
  }

  bool isOn(const CandidateAxis &axis, const std::string &index) const {
    return axis.use.activations && facts.find(index) == axis.use.activations;
  }

  void refuse(const CandidateAxis &axis, const std::string &why) {
    terms.problem = "axis @" + axis.name + " (" + why + ")";
  }

  /// Sets the degree of a kind of axis; refuses a second axis of that kind.
  void set(int64_t &degree, const CandidateAxis &axis, const char *kind) {
    if (degree != 1)
      return refuse(axis, std::string("is a second ") + kind + " axis");
    degree = axis.size;
    terms.order.push_back(kind);
  }

  void readData(const CandidateAxis &axis) {
    if (isOn(axis, options.sequenceIndex)) {
      if (axis.use.storesParameters || axis.use.storesState)
        return refuse(axis, "divides positions and what is stored at once");
      terms.exchangesHeads = axis.use.heads.has_value();
      return set(terms.context, axis, "context");
    }
    if (!isOn(axis, options.batchIndex))
      return refuse(axis, "divides neither samples nor positions");
    terms.dividesState |= axis.use.storesState;
    set(axis.use.storesParameters ? terms.shard : terms.replicate, axis,
        axis.use.storesParameters ? "shard" : "replicate");
  }

  void readModel(const CandidateAxis &axis) {
    bool hasExperts = llvm::any_of(axis.use.parameters, [&](ClassId id) {
      return facts.classes[id].hasOwnParameters;
    });
    if (axis.use.activations && !isOn(axis, options.sequenceIndex) &&
        !hasExperts)
      return refuse(axis, "divides samples besides parameters");
    if (hasExperts && !isOn(axis, options.batchIndex))
      return refuse(axis, "divides experts and no samples");
    if (hasExperts)
      return set(terms.expert, axis, "expert");
    terms.isSequenceParallel = isOn(axis, options.sequenceIndex);
    set(terms.tensor, axis, "tensor");
  }

  const Candidate &candidate;
  const ProgramFacts &facts;
  const ExportOptions &options;
  UsualTerms terms;
};

} // namespace

static int64_t extentOf(const ProgramFacts &facts, const std::string &index) {
  std::optional<ClassId> id = facts.find(index);
  return id ? facts.classes[*id].extent : 1;
}

/// Samples of one rank in one micro-batch.
static int64_t localBatch(const UsualTerms &terms, const Candidate &candidate,
                          const ProgramFacts &facts,
                          const ExportOptions &options) {
  return std::max<int64_t>(extentOf(facts, options.batchIndex) / terms.data() /
                               candidate.settings.microBatches,
                           1);
}

/// Whether the present axes come in this order.
static bool isInOrder(const UsualTerms &terms,
                      const std::vector<std::string> &order) {
  size_t next = 0;
  for (const std::string &kind : terms.order) {
    auto found = std::find(order.begin() + next, order.end(), kind);
    if (found == order.end())
      return false;
    next = size_t(found - order.begin());
  }
  return true;
}

static Exported refused(const std::string &problem) { return {"", problem}; }

/// Chunks of all stages.
static int64_t chunksOf(const UsualTerms &terms, const Candidate &candidate) {
  return terms.pipeline * candidate.settings.chunks;
}

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

static Exported toMegatron(const UsualTerms &terms, const Candidate &candidate,
                           const ProgramFacts &facts,
                           const ExportOptions &options) {
  if (terms.shard > 1 && terms.replicate > 1)
    return refused("Megatron's flags have one data axis, and the plan a "
                   "replicated and a stored one; pin one of them to size 1");
  if (!isInOrder(terms, {"pipeline", "replicate", "shard", "context", "expert",
                         "tensor"}))
    return refused("Megatron's ranks have stages outside, then data axes, then "
                   "context, and tensor axes inside; the plan has another "
                   "order");
  int64_t chunks = chunksOf(terms, candidate);
  if (facts.layers % chunks != 0)
    return refused(fmt::format(
        "Megatron's stages have equally many layers in each chunk, and {} "
        "chunks do not divide {}; give --stages and --stage-chunks numbers "
        "that do",
        chunks, facts.layers));
  if (candidate.settings.chunks > 1 &&
      candidate.settings.microBatches % terms.pipeline != 0)
    return refused(fmt::format(
        "Megatron interleaves where stages divide the micro-batches, and {} do "
        "not divide {}; plan with --stage-chunks 1",
        terms.pipeline, candidate.settings.microBatches));
  if (terms.pipeline > 1 && candidate.settings.schedule != "1f1b")
    return refused("Megatron schedules stages by 1F1B alone; plan with "
                   "--stage-schedule 1f1b");
  std::vector<std::string> flags = {
      fmt::format("--tensor-model-parallel-size {}", terms.tensor),
      fmt::format("--context-parallel-size {}", terms.context),
      fmt::format("--micro-batch-size {}",
                  localBatch(terms, candidate, facts, options)),
      fmt::format("--global-batch-size {}",
                  extentOf(facts, options.batchIndex)),
      fmt::format("--seq-length {}", extentOf(facts, options.sequenceIndex))};
  if (terms.pipeline > 1)
    flags.push_back(
        fmt::format("--pipeline-model-parallel-size {}", terms.pipeline));
  if (candidate.settings.chunks > 1)
    flags.push_back(fmt::format("--num-layers-per-virtual-pipeline-stage {}",
                                facts.layers / chunks));
  if (terms.expert > 1)
    flags.push_back(
        fmt::format("--expert-model-parallel-size {}", terms.expert));
  if (terms.exchangesHeads)
    flags.emplace_back("--cp-comm-type a2a");
  if (terms.isSequenceParallel)
    flags.emplace_back("--sequence-parallel");
  if (terms.dividesState)
    flags.emplace_back("--use-distributed-optimizer");
  if (terms.shard > 1)
    flags.emplace_back("--use-torch-fsdp2");
  const std::string &mode = candidate.settings.rematerialize;
  if (mode != "none")
    flags.push_back("--recompute-granularity " + mode);
  if (mode == "full")
    flags.emplace_back("--recompute-method uniform --recompute-num-layers 1");
  return {llvm::join(flags, " \\\n") + "\n", ""};
}

/// torchtitan's name of a schedule; empty if it has none.
static std::string schedulesName(const Settings &settings) {
  bool isCyclic = settings.chunks > 1;
  for (auto [ours, hasChunks, theirs] :
       {std::tuple("gpipe", false, "GPipe"), std::tuple("1f1b", false, "1F1B"),
        std::tuple("1f1b", true, "Interleaved1F1B")})
    if (settings.schedule == ours && isCyclic == hasChunks)
      return theirs;
  return "";
}

/// torchtitan's lines for stages, and the batch of all micro-batches together.
static std::string torchtitanStages(const UsualTerms &terms,
                                    const Candidate &candidate, int64_t layers,
                                    int64_t microBatch) {
  std::string text =
      fmt::format("pipeline_parallel_degree = {}\n", terms.pipeline);
  // By default torchtitan counts embedding and head as a layer each.
  if (terms.pipeline > 1)
    text += fmt::format("pipeline_parallel_schedule = \"{}\"\n"
                        "pipeline_parallel_microbatch_size = {}\n"
                        "pipeline_parallel_first_stage_less_layers = 0\n"
                        "pipeline_parallel_last_stage_less_layers = 0\n",
                        schedulesName(candidate.settings), microBatch);
  if (candidate.settings.chunks > 1)
    text += fmt::format("pipeline_parallel_layers_per_stage = {}\n",
                        layers / chunksOf(terms, candidate));
  return text;
}

static Exported toTorchtitan(const UsualTerms &terms,
                             const Candidate &candidate,
                             const ProgramFacts &facts,
                             const ExportOptions &options) {
  if (terms.dividesState)
    return refused("torchtitan divides the optimizer's state with the "
                   "parameters only; plan without --optimizer, with less "
                   "--memory");
  if (terms.tensor > 1 && !terms.isSequenceParallel)
    return refused("torchtitan's tensor parallelism divides the sequence, "
                   "too; pin the tensor axis on positions");
  if (terms.exchangesHeads)
    return refused("torchtitan's context parallelism gathers keys or sends "
                   "them around a ring, and exchanges no heads; pin the "
                   "context axis on positions of another size, or plan "
                   "without it");
  if (terms.expert > 1)
    return refused("torchtitan's expert axes store all other parameters "
                   "divided, too, and the plan's do not");
  if (!isInOrder(terms,
                 {"pipeline", "replicate", "shard", "context", "tensor"}))
    return refused("torchtitan's mesh has stages outside, then data axes, then "
                   "context, and tensor axes inside; the plan has another "
                   "order");
  if (terms.pipeline > 1 && schedulesName(candidate.settings).empty())
    return refused(fmt::format("torchtitan has no schedule '{}' of {} chunks a "
                               "stage; plan with --stage-schedule 1f1b",
                               candidate.settings.schedule,
                               candidate.settings.chunks));
  int64_t chunks = chunksOf(terms, candidate);
  if (candidate.settings.chunks > 1 && facts.layers % chunks != 0)
    return refused(fmt::format("torchtitan's chunks have equally many layers, "
                               "and {} chunks do not divide {}; give "
                               "--stage-chunks a number that does",
                               chunks, facts.layers));
  int64_t microBatch = localBatch(terms, candidate, facts, options);
  bool isPipeline = terms.pipeline > 1;
  return {
      fmt::format("[training]\nlocal_batch_size = {}\nglobal_batch_size = "
                  "{}\nseq_len = {}\n\n[parallelism]\n"
                  "data_parallel_replicate_degree = {}\n"
                  "data_parallel_shard_degree = {}\n"
                  "tensor_parallel_degree = {}\n"
                  "context_parallel_degree = {}\n"
                  "expert_parallel_degree = 1\n{}\n"
                  "[activation_checkpoint]\nmode = \"{}\"\n",
                  isPipeline ? microBatch * candidate.settings.microBatches
                             : microBatch,
                  extentOf(facts, options.batchIndex),
                  extentOf(facts, options.sequenceIndex), terms.replicate,
                  terms.shard, terms.tensor, terms.context,
                  torchtitanStages(terms, candidate, facts.layers, microBatch),
                  candidate.settings.rematerialize),
      ""};
}

/// "layers.*.mlp.up_proj" for "model.layers.0.mlp.up_proj.weight": the pattern
/// below the model's own name.
static std::string modulePattern(llvm::StringRef parameter) {
  parameter.consume_front("model.");
  parameter.consume_back(".weight");
  llvm::SmallVector<llvm::StringRef> words;
  parameter.split(words, '.');
  for (llvm::StringRef &word : words)
    if (llvm::all_of(word, llvm::isDigit))
      word = "*";
  return llvm::join(words, ".");
}

/// transformers' style for a module whose weight is divided along `index`. A
/// head, which is not part of the base model, returns whole results.
static const char *styleOf(const TensorFacts &tensor, ClassId index,
                           bool isHead) {
  if (llvm::is_contained(tensor.lookedUp, index))
    return "embedding_rowwise";
  if (llvm::is_contained(tensor.contracted, index))
    return "rowwise";
  return isHead ? "colwise_gather_output" : "colwise";
}

static Exported toTransformers(const UsualTerms &terms,
                               const Candidate &candidate,
                               const ProgramFacts &facts) {
  if (terms.data() * terms.context * terms.pipeline > 1 || terms.tensor == 1)
    return refused("a base_model_tp_plan says tensor parallelism and nothing "
                   "else, and plan 1 is " +
                   usualName(candidate, facts) +
                   "; --pin one axis of all devices on an index that "
                   "parameters have");
  auto isOfBase = [](const TensorFacts &tensor) {
    return llvm::StringRef(tensor.name).starts_with("model.");
  };
  bool hasBase = llvm::any_of(facts.tensors, isOfBase);
  Json plan = Json::object();
  for (const TensorFacts &tensor : facts.tensors) {
    if (tensor.kind != TensorFacts::Kind::Parameter)
      continue;
    auto dims = subscriptsOf(tensor, candidate);
    for (size_t dim = 0; dim < dims.size() && dims.size() >= 2; ++dim)
      if (!dims[dim].empty())
        plan[modulePattern(tensor.name)] =
            styleOf(tensor, tensor.dims[dim], hasBase && !isOfBase(tensor));
  }
  return {plan.dump(2) + "\n", ""};
}

static Json tensorsJson(const Candidate &candidate, const ProgramFacts &facts) {
  Json tensors = Json::array();
  for (const TensorFacts &tensor : facts.tensors) {
    Json dims = Json::array();
    for (auto [dim, axes] : llvm::enumerate(subscriptsOf(tensor, candidate))) {
      Json names = Json::array();
      for (unsigned axis : axes)
        names.push_back(candidate.axes[axis].name);
      dims.push_back({{"index", facts.classes[tensor.dims[dim]].name()},
                      {"extent", tensor.shape[dim]},
                      {"axes", names}});
    }
    const char *kind = tensor.kind == TensorFacts::Kind::Parameter ? "parameter"
                       : tensor.kind == TensorFacts::Kind::Input   ? "input"
                                                                   : "boundary";
    tensors.push_back({{"name", tensor.name},
                       {"kind", kind},
                       {"count", tensor.count},
                       {"dims", dims}});
  }
  return tensors;
}

static Exported toNeutral(const Candidate &candidate,
                          const ProgramFacts &facts) {
  Json json = {{"format", "tpsp-placement-1"},
               {"program", facts.program},
               {"name", usualName(candidate, facts)},
               {"subscripts", subscriptText(candidate, facts)},
               {"mesh", axesJson(candidate)},
               {"micro_batches", candidate.settings.microBatches},
               {"rematerialize", candidate.settings.rematerialize},
               {"schedule", candidate.settings.schedule},
               {"stage_chunks", candidate.settings.chunks},
               {"tensors", tensorsJson(candidate, facts)}};
  return {json.dump(2) + "\n", ""};
}

Exported tpsp::planner::exportPlan(const std::string &target,
                                   const Candidate &candidate,
                                   const ProgramFacts &facts,
                                   const ExportOptions &options) {
  if (target == "json")
    return toNeutral(candidate, facts);
  UsualTerms terms = ReadTerms(candidate, facts, options).read();
  if (!terms.problem.empty())
    return refused("--export " + target + " has no word for this plan: " +
                   terms.problem + "; --export json has");
  if (target == "megatron")
    return toMegatron(terms, candidate, facts, options);
  if (target == "torchtitan")
    return toTorchtitan(terms, candidate, facts, options);
  return toTransformers(terms, candidate, facts);
}
