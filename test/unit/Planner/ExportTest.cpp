#include "tpsp/Planner/Export.h"
#include "SmallPrograms.h"

#include <gmock/gmock.h>

using namespace tpsp;
using namespace tpsp::planner;
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

static Exported exported(const std::string &target, Candidate candidate) {
  return exportPlan(target, candidate, mlp(16, 24, 8, 32), {});
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

TEST(Export, Torchtitan) {
  Exported text = exported("torchtitan", of({fsdp, tp}));
  EXPECT_EQ(text.problem, "");
  EXPECT_THAT(text.text, HasSubstr("data_parallel_shard_degree = 4\n"));
  EXPECT_THAT(text.text, HasSubstr("tensor_parallel_degree = 8\n"));
  EXPECT_THAT(text.text, HasSubstr("local_batch_size = 4\n"));
  EXPECT_THAT(text.text, HasSubstr("mode = \"none\""));
}

// Of up[e, d] the rows are divided, of down[d, e] the columns.
TEST(Export, Transformers) {
  Exported text = exported("hf", of({tp}));
  EXPECT_EQ(text.problem, "");
  EXPECT_THAT(text.text, HasSubstr("\"up\": \"colwise\""));
  EXPECT_THAT(text.text, HasSubstr("\"down\": \"rowwise\""));
  EXPECT_THAT(text.text, Not(HasSubstr("gain")));
}

TEST(Export, NeutralHasEveryTensor) {
  Exported text = exported("json", of({dp, tp}));
  EXPECT_EQ(text.problem, "");
  for (const char *part :
       {"tpsp-placement-1", "\"up\"", "\"gain\"", "\"count\""})
    EXPECT_THAT(text.text, HasSubstr(part));
}

// What a target has no word for.
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
}
