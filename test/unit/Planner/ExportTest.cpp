#include "tpsp/Planner/Export.h"
#include "SmallPrograms.h"

#include <gmock/gmock.h>

using namespace tpsp;
using namespace tpsp::planner;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

static Candidate of(std::vector<CandidateAxis> axes) {
  Candidate candidate;
  candidate.axes = std::move(axes);
  return candidate;
}

static const CandidateAxis dp = {"dp", 2, {AxisRole::Data, 0, {}, false, true}};
static const CandidateAxis copied = {
    "dp", 2, {AxisRole::Data, 0, {}, false, false}};
static const CandidateAxis fsdp = {
    "fsdp", 4, {AxisRole::Data, 0, {}, true, false}};
static const CandidateAxis cp = {
    "cp", 3, {AxisRole::Data, 1, {}, false, false}};
static const CandidateAxis tp = {
    "tp", 8, {AxisRole::Model, 1, {3}, false, false}};

static const CandidateAxis pp = {
    "pp", 4, {AxisRole::Stage, std::nullopt, {}, false, false}};

/// The context axis, with what it divides besides positions.
static CandidateAxis contextWith(bool storesParameters, bool storesState) {
  CandidateAxis axis = cp;
  axis.use.storesParameters = storesParameters;
  axis.use.storesState = storesState;
  return axis;
}

static Exported to(const char *word, const Candidate &plan,
                   const ProgramFacts &facts,
                   const ExportOptions &options = {}) {
  return exportPlan(*findTarget(word), plan, facts, options);
}

static ProgramFacts eightLayers() {
  ProgramFacts facts = mlp(16, 48, 8, 32);
  facts.layers = 8;
  return facts;
}

static Exported exported(const char *word, const Candidate &plan,
                         const ExportOptions &options = {}) {
  return to(word, plan, eightLayers(), options);
}

TEST(Export, Megatron) {
  Candidate plan = of({dp, contextWith(false, true), tp});
  plan.settings = {4, "full"};
  Exported text = exported("megatron", plan);
  EXPECT_EQ(text.problem, "");
  for (const char *flag :
       {"--tensor-model-parallel-size 8", "--context-parallel-size 3",
        "--micro-batch-size 2", "--global-batch-size 16", "--seq-length 48",
        "--sequence-parallel", "--use-distributed-optimizer",
        "--cp-comm-type all_gather", "--recompute-granularity full"})
    EXPECT_THAT(text.text, HasSubstr(flag));
  EXPECT_THAT(text.text, Not(HasSubstr("--bf16")));
}

// Flags say everything that the step does: precision, update, overlap, buckets.
TEST(Export, MegatronStep) {
  ExportOptions options;
  options.step.dtype = "bf16";
  options.step.optimizer = "adamw";
  options.step.clip = 0.5;
  options.step.overlaps = true;
  options.step.bucketBytes = 1000;
  options.head = {"A plan."};
  EXPECT_THAT(exported("megatron", of({dp, tp}), options).text,
              AllOf(HasSubstr("# A plan.\n"), HasSubstr("--bf16"),
                    HasSubstr("--optimizer adam\n"),
                    HasSubstr("--clip-grad 0.5"),
                    HasSubstr("--overlap-grad-reduce"),
                    HasSubstr("--ddp-bucket-size 250\n"),
                    HasSubstr("--overlap-param-gather")));
  // Without a divided state nothing is gathered; without ranks nothing reduced.
  EXPECT_THAT(exported("megatron", of({copied, tp}), options).text,
              AllOf(HasSubstr("--overlap-grad-reduce"),
                    Not(HasSubstr("--overlap-param-gather"))));
  EXPECT_THAT(exported("megatron", of({tp}), options).text,
              Not(HasSubstr("--overlap-grad-reduce")));
  EXPECT_THAT(exported("megatron", of({fsdp}), options).text,
              AllOf(HasSubstr("--use-torch-fsdp2"),
                    HasSubstr("--no-gradient-accumulation-fusion"),
                    Not(HasSubstr("--overlap-grad-reduce"))));
}

// Stages may also be inside data axes, by another flag.
TEST(Export, MegatronOrders) {
  Candidate plan = of({dp, pp, tp});
  plan.settings = {4, "none", "1f1b"};
  EXPECT_THAT(exported("megatron", plan).text,
              HasSubstr("--use-tp-pp-dp-mapping"));
  plan = of({pp, dp, tp});
  plan.settings = {4, "none", "1f1b"};
  EXPECT_THAT(exported("megatron", plan).text,
              Not(HasSubstr("--use-tp-pp-dp-mapping")));
}

// A context axis that exchanges heads is Megatron's by another flag, and no
// axis of torchtitan's.
TEST(Export, Heads) {
  CandidateAxis ulysses = cp;
  ulysses.use.heads = 3;
  EXPECT_THAT(exported("megatron", of({ulysses})).text,
              HasSubstr("--cp-comm-type a2a"));
  ulysses.use.storesParameters = true;
  EXPECT_THAT(exported("torchtitan", of({ulysses})).problem,
              HasSubstr("exchanges no heads"));
  EXPECT_THAT(placementJson(of({ulysses}), eightLayers()),
              HasSubstr("\"exchanges_heads\": true"));
}

// A context axis whose keys go around a ring is said by a flag of both systems.
TEST(Export, Ring) {
  CandidateAxis ring = cp;
  EXPECT_THAT(exported("megatron", of({ring})).text,
              HasSubstr("--cp-comm-type all_gather"));
  ring.use.ring = true;
  EXPECT_THAT(exported("megatron", of({ring})).text,
              HasSubstr("--cp-comm-type p2p"));
  EXPECT_THAT(placementJson(of({ring}), eightLayers()),
              HasSubstr("\"ring\": true"));
  ring.use.storesParameters = true;
  for (const char *target : {"torchtitan", "torchtitan-0.2"})
    EXPECT_THAT(
        exported(target, of({ring})).text,
        testing::ContainsRegex("context_parallel_rotate_method ?= ?.alltoall"));
}

// Experts are divided over ranks that have their own samples, and nothing else
// is divided over these.
TEST(Export, Experts) {
  ProgramFacts facts = mlp(16, 48, 8, 32);
  facts.classes[3].hasOwnParameters = true;
  CandidateAxis ep = {"ep", 4, {AxisRole::Model, 0, {3}, false, false}};
  Exported text = to("megatron", of({dp, ep}), facts);
  EXPECT_EQ(text.problem, "");
  for (const char *flag :
       {"--expert-model-parallel-size 4", "--micro-batch-size 2"})
    EXPECT_THAT(text.text, HasSubstr(flag));
  EXPECT_THAT(to("torchtitan", of({ep}), facts).problem,
              HasSubstr("torchtitan's expert axes store"));
  CandidateAxis wide = ep;
  wide.use.parameters = {2, 3};
  EXPECT_THAT(to("megatron", of({wide}), facts).problem,
              HasSubstr("divides experts and nothing else"));
  EXPECT_THAT(to("megatron", of({ep, cp}), facts).problem,
              HasSubstr("expert ranks are context ranks first"));
  ep.use.activations = 1;
  EXPECT_THAT(to("megatron", of({ep}), facts).problem,
              HasSubstr("axis @ep, which divides experts and no samples"));
}

// Megatron-LM rematerialises the first layers of a stage (block); the others
// all or none.
TEST(Export, SomeLayersRematerialised) {
  Candidate plan = of({dp, tp});
  plan.settings = {1, "full:3"};
  EXPECT_THAT(exported("megatron", plan).text,
              AllOf(HasSubstr("--recompute-granularity full\n"),
                    HasSubstr("--recompute-method block "
                              "--recompute-num-layers 3\n")));
  EXPECT_THAT(exported("torchtitan", plan).problem,
              HasSubstr("checkpoints all layers or every n-th"));
}

TEST(Export, Torchtitan2) {
  Exported text = exported("torchtitan-0.2", of({fsdp, tp}));
  EXPECT_EQ(text.problem, "");
  EXPECT_THAT(text.text, HasSubstr("# For torchtitan 0.2.2.\n"));
  EXPECT_THAT(text.text, HasSubstr("data_parallel_shard_degree = 4\n"));
  EXPECT_THAT(text.text, HasSubstr("tensor_parallel_degree = 8\n"));
  EXPECT_THAT(text.text, HasSubstr("local_batch_size = 4\n"));
  EXPECT_THAT(text.text, HasSubstr("mode = \"none\""));
}

// From 0.3 on configurations are Python. Then TP without SP can be expressed.
TEST(Export, Torchtitan3) {
  Candidate plan = of({fsdp, tp});
  plan.settings.rematerialize = "full";
  EXPECT_THAT(
      exported("torchtitan", plan).text,
      AllOf(HasSubstr("# For torchtitan 0.3.0.\n"),
            HasSubstr("import FullAC\n"),
            HasSubstr("    config.parallelism.tensor_parallel_degree = 8\n"),
            HasSubstr("enable_sequence_parallel = True\n"),
            HasSubstr("config.activation_checkpoint = FullAC.Config()\n")));
  CandidateAxis plain = tp;
  plain.use.activations.reset();
  EXPECT_THAT(exported("torchtitan", of({fsdp, plain})).text,
              AllOf(HasSubstr("enable_sequence_parallel = False\n"),
                    HasSubstr("config.activation_checkpoint = None\n")));
}

TEST(Export, Stages) {
  Candidate plan = of({pp, dp, tp});
  plan.settings = {4, "none", "1f1b"};
  EXPECT_THAT(exported("megatron", plan).text,
              AllOf(HasSubstr("--pipeline-model-parallel-size 4"),
                    HasSubstr("--micro-batch-size 2")));
  plan = of({pp, fsdp, tp});
  plan.settings = {2, "none", "1f1b"};
  Exported text = exported("torchtitan-0.2", plan);
  EXPECT_EQ(text.problem, "");
  // The batch of a rank, and one of its micro-batches.
  for (const char *line :
       {"pipeline_parallel_degree = 4\n",
        "pipeline_parallel_schedule = \"1F1B\"\n",
        "pipeline_parallel_microbatch_size = 2\n", "local_batch_size = 4\n",
        "pipeline_parallel_first_stage_less_layers = 0\n"})
    EXPECT_THAT(text.text, HasSubstr(line));
  EXPECT_THAT(exported("torchtitan", plan).text,
              HasSubstr("config.training.disable_cuda_graphs = True\n"));
  EXPECT_THAT(exported("torchtitan-0.2", of({fsdp, tp})).text,
              Not(HasSubstr("pipeline_parallel_schedule")));
  EXPECT_THAT(placementJson(plan, eightLayers()),
              AllOf(HasSubstr("\"role\": \"stage\""),
                    HasSubstr("\"schedule\": \"1f1b\"")));
}

// 8 layers on 4 stages: each stage has two, in a chunk each.
TEST(Export, Chunks) {
  Candidate plan = of({pp, dp, tp});
  plan.settings = {4, "none", "1f1b", 2};
  EXPECT_THAT(exported("megatron", plan).text,
              HasSubstr("--num-layers-per-virtual-pipeline-stage 1"));
  plan.axes[1] = fsdp;
  EXPECT_THAT(exported("torchtitan-0.2", plan).text,
              AllOf(HasSubstr("pipeline_parallel_layers_per_stage = 1\n"),
                    HasSubstr("schedule = \"Interleaved1F1B\"\n")));
  EXPECT_THAT(placementJson(plan, eightLayers()),
              HasSubstr("\"stage_chunks\": 2"));
  plan.settings.schedule = "gpipe";
  EXPECT_THAT(exported("torchtitan", plan).problem,
              HasSubstr("no schedule 'gpipe' of 2 chunks"));
  plan.settings = {9, "none", "1f1b", 2};
  EXPECT_THAT(exported("torchtitan", plan).problem,
              HasSubstr("9 on 4 stages are none"));
  plan.settings = {4, "none", "1f1b", 3};
  EXPECT_THAT(exported("torchtitan", plan).problem,
              HasSubstr("12 chunks do not divide 8"));
  plan.axes[1] = dp;
  EXPECT_THAT(exported("megatron", plan).problem,
              HasSubstr("12 chunks do not divide 8"));
  plan.settings = {6, "none", "1f1b", 2};
  EXPECT_THAT(exported("megatron", plan).problem,
              HasSubstr("4 do not divide 6"));
}

// The rows of up[e, d] are divided, and the columns of down[d, e].
TEST(Export, Transformers) {
  CandidateAxis plain = tp;
  plain.use.activations.reset();
  Candidate plan = of({plain});
  plan.settings = {4, "full"};
  Exported text = exported("hf", plan);
  EXPECT_EQ(text.problem, "");
  EXPECT_THAT(text.text, HasSubstr("\"up\": \"colwise\""));
  EXPECT_THAT(text.text, HasSubstr("\"down\": \"rowwise\""));
  EXPECT_THAT(text.text, Not(HasSubstr("gain")));
  // JSON has no comments.
  EXPECT_THAT(text.notes, Contains(HasSubstr("gradient_checkpointing=True")));
}

// Weights may be transposed or not. Tables are divided along the index that is
// looked up. A head returns whole logits.
TEST(Export, TransformersAsParametersAreUsed) {
  ProgramFacts facts = mlp(16, 48, 8, 32);
  TensorFacts table = facts.tensors[1], head = facts.tensors[1],
              lying = facts.tensors[1];
  table.name = "model.embed_tokens.weight";
  table.contracted = {};
  table.lookedUp = {3};
  head.name = "lm_head.weight";
  lying.name = "model.layers.0.c_fc.weight";
  std::swap(lying.dims[0], lying.dims[1]);
  facts.tensors = {facts.tensors[0], facts.tensors[3], table, head, lying};
  facts.tensors[0].holdsIntegers = true;
  CandidateAxis plain = tp;
  plain.use.activations.reset();
  Exported text = to("hf", of({plain}), facts);
  EXPECT_EQ(text.problem, "");
  for (const char *line : {"\"embed_tokens\": \"embedding_rowwise\"",
                           "\"lm_head\": \"colwise_gather_output\"",
                           "\"layers.*.c_fc\": \"colwise\""})
    EXPECT_THAT(text.text, HasSubstr(line));
}

// The program of -o is applied; the text makes the mesh.
TEST(Export, Torch) {
  EXPECT_THAT(exported("torch", of({fsdp, tp})).text,
              AllOf(HasSubstr("(4, 8), mesh_dim_names=(\"fsdp\", \"tp\")"),
                    HasSubstr("tpsp_torch.apply(")));
  EXPECT_THAT(exported("torch", of({tp})).text,
              HasSubstr("(8,), mesh_dim_names=(\"tp\",)"));
}

TEST(Export, NeutralHasEveryTensor) {
  std::string text = placementJson(of({dp, tp}), eightLayers());
  for (const char *part :
       {"tpsp-placement-1", "\"up\"", "\"gain\"", "\"count\""})
    EXPECT_THAT(text, HasSubstr(part));
}

namespace {

struct Refusal {
  const char *target;
  std::vector<CandidateAxis> axes;
  const char *why;
};

} // namespace

static CandidateAxis withSize(CandidateAxis axis, int64_t size) {
  axis.size = size;
  return axis;
}

static CandidateAxis plainTensor() {
  CandidateAxis axis = tp;
  axis.use.activations.reset();
  return axis;
}

static CandidateAxis tensorOn(std::optional<ClassId> activations,
                              std::vector<ClassId> parameters) {
  return {"tp", 8, {AxisRole::Model, activations, parameters, false, false}};
}

// Plans that a target cannot express.
TEST(Export, Refusals) {
  const Refusal refusals[] = {
      {"megatron", {tensorOn(0, {3})}, "divides samples besides parameters"},
      {"megatron", {tensorOn({}, {2})}, "features that layers hand on"},
      {"megatron", {tp, dp}, "another order"},
      {"megatron", {copied, fsdp}, "one data axis"},
      {"megatron", {fsdp, cp}, "over data and context ranks together"},
      {"megatron", {dp, cp}, "the state over data and context ranks together"},
      {"megatron", {pp, fsdp}, "no pipeline stages"},
      {"megatron", {withSize(cp, 16)}, "16 ranks do not divide 48 so"},
      {"megatron", {withSize(pp, 3), tp}, "3 chunks do not divide 8"},
      {"torchtitan", {dp, tp}, "optimizer's state"},
      {"torchtitan", {fsdp, cp}, "the plan's have copies"},
      {"torchtitan", {tp, tp}, "is a second tensor axis"},
      {"torchtitan-0.2", {plainTensor()}, "divides the sequence"},
      {"torchtitan-0.2", {copied, tp}, "only without other axes"},
      {"hf", {dp, plainTensor()}, "tensor parallelism and nothing else"},
      {"hf", {fsdp}, "tensor parallelism and nothing else"},
      {"hf", {pp, plainTensor()}, "tensor parallelism and nothing else"},
      {"hf", {}, "tensor parallelism and nothing else"},
      {"hf", {tp}, "leaves activations between layers whole"},
      {"torch", {pp, tp}, "not cut into stages"},
      {"torch", {contextWith(true, false)}, "whole sequences"},
      {"torch", {dp}, "the state with the parameters only"},
      {"torch", {tp, fsdp}, "another order"}};
  for (const auto &[target, axes, why] : refusals) {
    Candidate plan = of(axes);
    if (plan.hasStages())
      plan.settings = {6, "none", "1f1b"};
    EXPECT_THAT(exported(target, plan).problem, HasSubstr(why)) << target;
  }
  Candidate filled = of({pp, tp});
  filled.settings = {4, "none", "zero-bubble"};
  EXPECT_THAT(exported("megatron", filled).problem, HasSubstr("1F1B alone"));
  EXPECT_THAT(exported("torchtitan", filled).problem,
              HasSubstr("no schedule 'zero-bubble'"));
}

// A tied head, and a matrix whose extent the axis does not divide.
TEST(Export, RefusalsOfPrograms) {
  ProgramFacts tied = eightLayers();
  tied.tensors[2].lookedUp = {3};
  EXPECT_THAT(to("megatron", of({fsdp}), tied).problem,
              HasSubstr("whose head is its embedding"));
  ProgramFacts odd = eightLayers();
  odd.classes.push_back({{"v"}, 7});
  TensorFacts head = odd.tensors[1];
  head.name = "head";
  head.dims = {4, 2};
  head.shape = {7, 8};
  odd.tensors.push_back(head);
  EXPECT_THAT(to("megatron", of({tp}), odd).problem,
              HasSubstr("leaves a matrix whole"));
}

// Groups of queries are divided, and the heads of their keys are whole.
TEST(Export, RefusesWholeKeys) {
  ProgramFacts facts = eightLayers();
  facts.classes.push_back({{"h"}, 8});
  facts.classes.push_back({{"r"}, 8});
  facts.headClasses = {4};
  TensorFacts queries = facts.tensors[1], keys = facts.tensors[1];
  queries.dims = {4, 5, 2};
  queries.shape = {8, 8, 8};
  keys.dims = {4, 2};
  keys.shape = {8, 8};
  facts.tensors.push_back(queries);
  facts.tensors.push_back(keys);
  EXPECT_THAT(to("megatron", of({tensorOn(1, {3, 5})}), facts).problem,
              HasSubstr("leaves the heads of keys whole"));
  EXPECT_EQ(to("megatron", of({tensorOn(1, {3, 4})}), facts).problem, "");
}

// Every rule has a clause, a way out and a source.
TEST(Target, RulesAreWhole) {
  for (const Target &target : targets()) {
    EXPECT_FALSE(target.orders.empty()) << target.name;
    for (llvm::ArrayRef<TargetRule> rules : {target.rules, target.furtherRules})
      for (const TargetRule &rule : rules)
        for (const char *text : {rule.why, rule.wayOut, rule.source})
          EXPECT_STRNE(text, "") << target.name;
  }
  EXPECT_EQ(findTarget("xla"), nullptr);
}

// Outer axes are refused as early as their rules allow.
TEST(Target, OuterAxes) {
  ProgramFacts facts = eightLayers();
  Reader megatron = {findTarget("megatron"), {}};
  EXPECT_TRUE(megatron.mayTake(of({dp}), facts));
  EXPECT_FALSE(megatron.mayTake(of({copied, fsdp}), facts));
  EXPECT_FALSE(megatron.mayTake(of({tp, dp}), facts));
  Reader hf = {findTarget("hf"), {}};
  EXPECT_TRUE(hf.mayTake(of({}), facts));
  EXPECT_FALSE(hf.takesAxes(of({}), facts));
  Candidate staged = of({pp});
  EXPECT_TRUE(megatron.takesSettings(staged, {4, "none", "1f1b", 2}, facts));
  EXPECT_FALSE(megatron.takesSettings(staged, {4, "none", "1f1b", 3}, facts));
  std::vector<Settings> settings = {{1, "none"}, {1, "selective"}};
  EXPECT_EQ(hf.keepTaken(settings, facts), "");
  EXPECT_EQ(settings.size(), 1u);
  settings = {{1, "selective"}};
  EXPECT_THAT(hf.keepTaken(settings, facts), HasSubstr("whole layers only"));
  // A schedule is refused before any axis is known.
  settings = {{4, "none", "gpipe"}};
  EXPECT_THAT(megatron.keepTaken(settings, facts), HasSubstr("1F1B alone"));
  settings = {{4, "none", "1f1b"}, {4, "none"}};
  EXPECT_EQ(megatron.keepTaken(settings, facts), "");
  EXPECT_EQ(settings.size(), 2u);
  EXPECT_TRUE(Reader().takesAxes(of({tp, dp}), facts));
}
