#include "tpsp/Planner/Export.h"
#include "SmallPrograms.h"

#include <gmock/gmock.h>

using namespace tpsp;
using namespace tpsp::planner;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

static Candidate of(std::vector<CandidateAxis> axes) {
  Candidate candidate;
  candidate.axes = std::move(axes);
  return candidate;
}

static const CandidateAxis dp = {"dp", 2, {AxisRole::Data, 0, {}, false, true}};
static const CandidateAxis fsdp = {
    "fsdp", 4, {AxisRole::Data, 0, {}, true, false}};
static const CandidateAxis cp = {
    "cp", 3, {AxisRole::Data, 1, {}, false, false}};
static const CandidateAxis tp = {
    "tp", 8, {AxisRole::Model, 1, {3}, false, false}};

static const CandidateAxis pp = {
    "pp", 4, {AxisRole::Stage, std::nullopt, {}, false, false}};

static Exported exported(const std::string &target, Candidate candidate) {
  ProgramFacts facts = mlp(16, 24, 8, 32);
  facts.layers = 8;
  return exportPlan(target, candidate, facts, {});
}

TEST(Export, Megatron) {
  Candidate plan = of({dp, cp, tp});
  plan.settings = {4, "full"};
  Exported text = exported("megatron", plan);
  EXPECT_EQ(text.problem, "");
  for (const char *flag :
       {"--tensor-model-parallel-size 8", "--context-parallel-size 3",
        "--micro-batch-size 2", "--global-batch-size 16", "--seq-length 24",
        "--sequence-parallel", "--use-distributed-optimizer",
        "--recompute-granularity full"})
    EXPECT_THAT(text.text, HasSubstr(flag));
}

// A context axis that exchanges heads is Megatron's by another flag, and no
// axis of torchtitan's.
TEST(Export, Heads) {
  CandidateAxis ulysses = cp;
  ulysses.use.heads = 3;
  EXPECT_THAT(exported("megatron", of({ulysses})).text,
              HasSubstr("--cp-comm-type a2a"));
  EXPECT_THAT(exported("megatron", of({cp})).text,
              Not(HasSubstr("--cp-comm-type")));
  EXPECT_THAT(exported("torchtitan", of({ulysses})).problem,
              HasSubstr("exchanges no heads"));
  EXPECT_THAT(exported("json", of({ulysses})).text,
              HasSubstr("\"exchanges_heads\": true"));
}

// Experts are divided over ranks that have their own samples.
TEST(Export, Experts) {
  ProgramFacts facts = mlp(16, 24, 8, 32);
  facts.classes[3].hasOwnParameters = true;
  CandidateAxis ep = {"ep", 4, {AxisRole::Model, 0, {3}, false, false}};
  Exported text = exportPlan("megatron", of({dp, ep}), facts, {});
  EXPECT_EQ(text.problem, "");
  for (const char *flag :
       {"--expert-model-parallel-size 4", "--micro-batch-size 2"})
    EXPECT_THAT(text.text, HasSubstr(flag));
  EXPECT_THAT(exportPlan("torchtitan", of({ep}), facts, {}).problem,
              HasSubstr("torchtitan's expert axes store"));
  ep.use.activations = 1;
  EXPECT_THAT(exportPlan("megatron", of({ep}), facts, {}).problem,
              HasSubstr("axis @ep (divides experts and no samples)"));
}

TEST(Export, Torchtitan) {
  Exported text = exported("torchtitan", of({fsdp, tp}));
  EXPECT_EQ(text.problem, "");
  EXPECT_THAT(text.text, HasSubstr("data_parallel_shard_degree = 4\n"));
  EXPECT_THAT(text.text, HasSubstr("tensor_parallel_degree = 8\n"));
  EXPECT_THAT(text.text, HasSubstr("local_batch_size = 4\n"));
  EXPECT_THAT(text.text, HasSubstr("mode = \"none\""));
}

TEST(Export, Stages) {
  Candidate plan = of({pp, dp, tp});
  plan.settings = {4, "none", "1f1b"};
  EXPECT_THAT(exported("megatron", plan).text,
              AllOf(HasSubstr("--pipeline-model-parallel-size 4"),
                    HasSubstr("--micro-batch-size 2")));
  plan = of({pp, fsdp, tp});
  plan.settings = {2, "none", "1f1b"};
  Exported text = exported("torchtitan", plan);
  EXPECT_EQ(text.problem, "");
  // The batch of a rank, and one of its micro-batches.
  for (const char *line :
       {"pipeline_parallel_degree = 4\n",
        "pipeline_parallel_schedule = \"1F1B\"\n",
        "pipeline_parallel_microbatch_size = 2\n", "local_batch_size = 4\n",
        "pipeline_parallel_first_stage_less_layers = 0\n"})
    EXPECT_THAT(text.text, HasSubstr(line));
  EXPECT_THAT(exported("torchtitan", of({fsdp, tp})).text,
              Not(HasSubstr("pipeline_parallel_schedule")));
  EXPECT_THAT(exported("json", plan).text,
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
  EXPECT_THAT(exported("torchtitan", plan).text,
              AllOf(HasSubstr("pipeline_parallel_layers_per_stage = 1\n"),
                    HasSubstr("schedule = \"Interleaved1F1B\"\n")));
  EXPECT_THAT(exported("json", plan).text, HasSubstr("\"stage_chunks\": 2"));
  plan.settings.schedule = "gpipe";
  EXPECT_THAT(exported("torchtitan", plan).problem,
              HasSubstr("no schedule 'gpipe' of 2 chunks"));
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
  Exported text = exported("hf", of({tp}));
  EXPECT_EQ(text.problem, "");
  EXPECT_THAT(text.text, HasSubstr("\"up\": \"colwise\""));
  EXPECT_THAT(text.text, HasSubstr("\"down\": \"rowwise\""));
  EXPECT_THAT(text.text, Not(HasSubstr("gain")));
}

// Weights may be transposed or not. Tables are divided along the index that is
// looked up. A head returns whole logits.
TEST(Export, TransformersAsParametersAreUsed) {
  ProgramFacts facts = mlp(16, 24, 8, 32);
  TensorFacts table = facts.tensors[1], head = facts.tensors[1],
              lying = facts.tensors[1];
  table.name = "model.embed_tokens.weight";
  table.contracted = {};
  table.lookedUp = {3};
  head.name = "lm_head.weight";
  lying.name = "model.layers.0.c_fc.weight";
  std::swap(lying.dims[0], lying.dims[1]);
  facts.tensors = {facts.tensors[0], table, head, lying};
  Exported text = exportPlan("hf", of({tp}), facts, {});
  EXPECT_EQ(text.problem, "");
  for (const char *line : {"\"embed_tokens\": \"embedding_rowwise\"",
                           "\"lm_head\": \"colwise_gather_output\"",
                           "\"layers.*.c_fc\": \"colwise\""})
    EXPECT_THAT(text.text, HasSubstr(line));
}

TEST(Export, NeutralHasEveryTensor) {
  Exported text = exported("json", of({dp, tp}));
  EXPECT_EQ(text.problem, "");
  for (const char *part :
       {"tpsp-placement-1", "\"up\"", "\"gain\"", "\"count\""})
    EXPECT_THAT(text.text, HasSubstr(part));
}

// Plans that a target cannot express.
TEST(Export, Refusals) {
  CandidateAxis samples = tp;
  samples.use.activations = 0;
  EXPECT_THAT(exported("megatron", of({samples})).problem,
              HasSubstr("axis @tp (divides samples besides parameters)"));
  EXPECT_THAT(exported("megatron", of({tp, dp})).problem,
              HasSubstr("another order"));
  EXPECT_THAT(exported("megatron", of({dp, fsdp})).problem,
              HasSubstr("one data axis"));
  EXPECT_THAT(exported("torchtitan", of({dp, tp})).problem,
              HasSubstr("optimizer's state"));
  CandidateAxis plain = tp;
  plain.use.activations.reset();
  EXPECT_THAT(exported("torchtitan", of({plain})).problem,
              HasSubstr("divides the sequence"));
  EXPECT_THAT(exported("hf", of({dp, tp})).problem,
              HasSubstr("tensor parallelism and nothing else"));
  EXPECT_THAT(exported("hf", of({fsdp})).problem,
              HasSubstr("tensor parallelism and nothing else"));
  EXPECT_THAT(exported("torchtitan", of({tp, tp})).problem,
              HasSubstr("is a second tensor axis"));
  EXPECT_THAT(exported("hf", of({pp, tp})).problem,
              HasSubstr("tensor parallelism and nothing else"));
  EXPECT_THAT(exported("megatron", of({dp, pp, tp})).problem,
              HasSubstr("another order"));
  CandidateAxis three = pp;
  three.size = 3;
  EXPECT_THAT(exported("megatron", of({three, tp})).problem,
              HasSubstr("3 chunks do not divide 8"));
  Candidate filled = of({pp, tp});
  filled.settings = {4, "none", "zero-bubble"};
  EXPECT_THAT(exported("megatron", filled).problem, HasSubstr("1F1B alone"));
  EXPECT_THAT(exported("torchtitan", filled).problem,
              HasSubstr("no schedule 'zero-bubble'"));
}
