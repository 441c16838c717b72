#include "tpsp/Planner/Candidate.h"
#include "SmallPrograms.h"

#include <gmock/gmock.h>

using namespace tpsp;
using namespace tpsp::planner;
using testing::ElementsAre;
using testing::IsEmpty;

static Candidate tensorAndStorage() {
  Candidate candidate;
  candidate.axes = {{"", 2, {AxisRole::Data, 0, {}, true, false}},
                    {"", 4, {AxisRole::Model, 1, {3}, false, false}}};
  nameAxes(candidate, mlp(8, 8, 8, 16));
  return candidate;
}

// A storing axis divides the dimension that the model axis has, after it.
TEST(Candidate, SubscriptsOfParameters) {
  ProgramFacts facts = mlp(8, 8, 8, 16);
  Candidate candidate = tensorAndStorage();
  EXPECT_THAT(subscriptsOf(facts.tensors[1], candidate),
              ElementsAre(ElementsAre(1, 0), IsEmpty()));
  EXPECT_THAT(subscriptsOf(facts.tensors[2], candidate),
              ElementsAre(IsEmpty(), ElementsAre(1, 0)));
  EXPECT_THAT(subscriptsOf(facts.tensors[3], candidate),
              ElementsAre(IsEmpty()));
}

// If that dimension cannot be divided further, another one is; an odd dimension
// is not.
TEST(Candidate, StorageGoesWhereItDivides) {
  ProgramFacts facts = mlp(8, 8, 6, 4);
  EXPECT_THAT(subscriptsOf(facts.tensors[1], tensorAndStorage()),
              ElementsAre(ElementsAre(1), ElementsAre(0)));
  facts = mlp(8, 8, 7, 4);
  EXPECT_THAT(subscriptsOf(facts.tensors[1], tensorAndStorage()),
              ElementsAre(ElementsAre(1), IsEmpty()));
}

TEST(Candidate, SubscriptsOfActivations) {
  ProgramFacts facts = mlp(8, 8, 8, 16);
  EXPECT_THAT(subscriptsOf(facts.tensors[0], tensorAndStorage()),
              ElementsAre(ElementsAre(0), ElementsAre(1), IsEmpty()));
}

// For integers such as tokens the model axis divides nothing, and the data axis
// divides its class.
TEST(Candidate, SubscriptsOfIntegers) {
  TensorFacts tokens = mlp(8, 8, 8, 16).tensors[0];
  tokens.dims.pop_back();
  tokens.shape.pop_back();
  EXPECT_THAT(subscriptsOf(tokens, tensorAndStorage()),
              ElementsAre(ElementsAre(0), ElementsAre(1)));
  tokens.holdsIntegers = true;
  EXPECT_THAT(subscriptsOf(tokens, tensorAndStorage()),
              ElementsAre(ElementsAre(0), IsEmpty()));
}

// Attention's tensors have model axes before data axes on their heads, and
// positions only on axes that divide no heads.
TEST(Candidate, SubscriptsOfAttention) {
  TensorFacts queries;
  queries.dims = {0, 1, 3};
  queries.shape = {4, 64, 16};
  Candidate candidate;
  candidate.axes = {{"ring", 2, {AxisRole::Data, 1, {}, false, false}},
                    {"cp", 2, {AxisRole::Data, 1, {}, false, false, 3}},
                    {"tp", 2, {AxisRole::Model, 1, {3}, false, false}},
                    {"dp", 2, {AxisRole::Data, 0, {}, false, false}}};
  EXPECT_TRUE(placesAttention(candidate));
  EXPECT_EQ(attentionSubscripts(queries, candidate),
            (Subscripts{{3}, {0}, {2, 1}}));
  EXPECT_EQ(usualName(candidate, mlp(4, 64, 8, 16)),
            "CP 2 x Ulysses 2 x TP+SP 2 x DP 2");
  candidate.axes[1].use.heads.reset();
  EXPECT_FALSE(placesAttention(candidate));
}

TEST(Candidate, Names) {
  ProgramFacts facts = mlp(8, 8, 8, 16);
  Candidate candidate = tensorAndStorage();
  EXPECT_EQ(subscriptText(candidate, facts),
            "fsdp=2 tp=4: b@fsdp s@tp, parameters e@tp, stored @fsdp");
  EXPECT_EQ(usualName(candidate, facts), "FSDP 2 x TP+SP 4");
  candidate.axes[1].use.activations.reset();
  EXPECT_EQ(usualName(candidate, facts), "FSDP 2 x TP 4");
  facts.classes[3].hasOwnParameters = true;
  EXPECT_EQ(usualName(candidate, facts), "FSDP 2 x EP 4");
  EXPECT_EQ(usualName(Candidate(), facts), "one device");
  // An axis that the program itself writes and uses.
  Candidate written;
  written.axes = {{"tp", 4, {AxisRole::Model, std::nullopt, {}, false, false}}};
  EXPECT_EQ(subscriptText(written, facts), "tp=4");
  // A second axis with the same name gets a number.
  candidate.axes.push_back({"", 2, {AxisRole::Data, 1, {}, true, false}});
  candidate.axes.push_back({"", 2, {AxisRole::Data, 1, {}, false, false}});
  nameAxes(candidate, facts);
  EXPECT_EQ(candidate.axes[2].name, "cp");
  EXPECT_EQ(candidate.axes[3].name, "cp2");
}

// Stages divide layers, but no tensor.
TEST(Candidate, Stages) {
  ProgramFacts facts = mlp(8, 8, 8, 16);
  Candidate candidate = tensorAndStorage();
  EXPECT_FALSE(candidate.hasStages());
  candidate.axes.insert(
      candidate.axes.begin(),
      {"", 3, {AxisRole::Stage, std::nullopt, {}, false, false}});
  nameAxes(candidate, facts);
  EXPECT_EQ(candidate.numStages(), 3);
  EXPECT_EQ(candidate.numRanks(), 24);
  EXPECT_EQ(usualName(candidate, facts), "PP 3 x FSDP 2 x TP+SP 4");
  EXPECT_EQ(subscriptText(candidate, facts),
            "pp=3 fsdp=2 tp=4: b@fsdp s@tp, parameters e@tp, stored @fsdp, "
            "layers @pp");
  EXPECT_THAT(subscriptsOf(facts.tensors[0], candidate),
              ElementsAre(ElementsAre(1), ElementsAre(2), IsEmpty()));
}

TEST(Candidate, Settings) {
  EXPECT_EQ(settingsText({1, "none"}), "");
  EXPECT_EQ(settingsText({4, "full"}), "4 micro-batches, rematerialise full");
  EXPECT_EQ(settingsText({1, "full:8"}), "rematerialise full in 8 layers");
  EXPECT_EQ(settingsText({1, "full:1"}), "rematerialise full in 1 layer");
  EXPECT_EQ(settingsText({4, "full", "1f1b"}),
            "4 micro-batches, 1f1b, rematerialise full");
}
