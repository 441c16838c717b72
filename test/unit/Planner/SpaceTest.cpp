#include "tpsp/Planner/Space.h"
#include "SmallPrograms.h"

#include <gmock/gmock.h>

#include <set>

using namespace tpsp;
using namespace tpsp::planner;
using testing::AllOf;
using testing::Contains;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

static std::vector<std::string> textsOf(const Space &space) {
  std::vector<std::string> texts;
  for (const Candidate &candidate : space.leaves())
    texts.push_back(subscriptText(candidate, space.program()));
  return texts;
}

static SpaceOptions on(int64_t devices, unsigned maxAxes = 3) {
  SpaceOptions options;
  options.devices = devices;
  options.maxAxes = maxAxes;
  return options;
}

// All uses of one axis, without indices that its prime size does not divide.
TEST(Space, UsesOfOneAxis) {
  EXPECT_THAT(textsOf(Space(mlp(6, 5, 7, 9), on(3))),
              UnorderedElementsAre("dp=3: b@dp", "fsdp=3: b@fsdp, stored @fsdp",
                                   "tp=3: parameters e@tp",
                                   "tp=3: b@tp, parameters e@tp"));
}

TEST(Space, StateOfAnOptimizer) {
  SpaceOptions options = on(3);
  options.hasState = true;
  EXPECT_THAT(textsOf(Space(mlp(6, 5, 7, 9), options)),
              Contains("dp=3: b@dp, state @dp"));
}

// An axis on positions that see each other may divide heads within attention,
// if it divides them after the axes on parameters.
TEST(Space, HeadsWithinAttention) {
  ProgramFacts facts = mlp(4, 12, 5, 6);
  facts.classes[1].isMixed = true;
  facts.headClasses = {3};
  EXPECT_THAT(textsOf(Space(facts, on(3))),
              AllOf(Contains("cp=3: s@cp, attention e@cp"),
                    Contains("cp=3: s@cp, attention e@cp, stored @cp"),
                    Not(Contains(HasSubstr("b@cp, attention")))));
  for (const std::string &text : textsOf(Space(facts, on(4, 1))))
    EXPECT_THAT(text, Not(HasSubstr("attention")));
  bool areBeside = false;
  for (const std::string &text : textsOf(Space(facts, on(6)))) {
    areBeside |= text == "cp=3 tp=2: s@cp, attention e@cp, parameters e@tp";
    EXPECT_THAT(text, Not(HasSubstr("attention e@cp@cp2, parameters e")));
  }
  EXPECT_TRUE(areBeside);
  SpaceOptions pinned = on(3);
  for (const char *text : {"s@mine", "e@mine"})
    ASSERT_EQ(parsePin(text, facts, pinned.pins.emplace_back()), "");
  EXPECT_THAT(textsOf(Space(facts, pinned)),
              Contains("mine=3: s@mine, attention e@mine"));
}

// Keys go around a ring or are gathered, along all axes on positions alike.
// Shards that a ring cuts into halves need an even number of positions.
TEST(Space, RingsWithinAttention) {
  ProgramFacts facts = mlp(5, 24, 5, 7);
  facts.classes[1].isMixed = facts.classes[1].mayRing = true;
  SpaceOptions options = on(4);
  EXPECT_THAT(textsOf(Space(facts, options)), Not(Contains(HasSubstr("ring"))));
  options.mayRing = true;
  EXPECT_THAT(textsOf(Space(facts, options)),
              UnorderedElementsAre(
                  "cp=4: s@cp", "cp=4: s@cp, ring @cp",
                  "cp=4: s@cp, stored @cp", "cp=4: s@cp, ring @cp, stored @cp",
                  "cp=2 cp2=2: s@cp@cp2, stored @cp2",
                  "cp=2 cp2=2: s@cp@cp2, ring @cp@cp2, stored @cp2"));
  options.mayGather = false;
  EXPECT_THAT(textsOf(Space(facts, options)),
              testing::Each(HasSubstr("ring @cp")));
  facts.classes[1].ringHasHalves = true;
  options = on(8);
  options.mayRing = true;
  for (const std::string &text : textsOf(Space(facts, options)))
    EXPECT_THAT(text, Not(HasSubstr("ring")));
}

// No leaf comes twice. If several axes divide an index, their product divides
// its extent.
TEST(Space, LeavesDifferAndDivide) {
  Space space(mlp(4, 4, 8, 8), on(8));
  std::vector<std::string> texts = textsOf(space);
  EXPECT_GT(texts.size(), 50u);
  EXPECT_EQ(std::set<std::string>(texts.begin(), texts.end()).size(),
            texts.size());
  for (const Candidate &candidate : space.leaves()) {
    EXPECT_EQ(candidate.numRanks(), 8);
    int64_t onBatch = 1;
    for (const CandidateAxis &axis : candidate.axes)
      if (axis.use.activations == ClassId(0))
        onBatch *= axis.size;
    EXPECT_EQ(4 % onBatch, 0);
  }
}

// The order of axes matters between nodes, but not within a node.
TEST(Space, OrderWithinNodes) {
  SpaceOptions options = on(4, 2);
  size_t inOneNode = Space(mlp(4, 4, 8, 8), options).leaves().size();
  options.devicesPerNode = 2;
  size_t inTwo = Space(mlp(4, 4, 8, 8), options).leaves().size();
  EXPECT_GT(inTwo, inOneNode);
}

// A model axis does not divide an index that an operation needs whole.
TEST(Space, MixedIndicesOfParameters) {
  ProgramFacts facts = mlp(4, 4, 8, 8);
  facts.classes[3].isMixed = true;
  for (const std::string &text : textsOf(Space(facts, on(2))))
    EXPECT_THAT(text, Not(HasSubstr("parameters e@")));
}

TEST(Space, Pins) {
  ProgramFacts facts = mlp(4, 4, 8, 8);
  SpaceOptions options = on(8, 2);
  for (const char *text : {"b@data=2", "e@model", "s@model"})
    ASSERT_EQ(parsePin(text, facts, options.pins.emplace_back()), "");
  std::vector<std::string> texts = textsOf(Space(facts, options));
  EXPECT_THAT(texts, Contains("data=2 model=4: b@data s@model, "
                              "parameters e@model"));
  for (const std::string &text : texts)
    EXPECT_THAT(text, AllOf(HasSubstr("data=2"), HasSubstr("b@data"),
                            HasSubstr("s@model"), ContainsRegex(" e@.*model")));
}

// A node that leaves no axis for a pin has no leaf, so it is pruned.
TEST(Space, PinsPrune) {
  ProgramFacts facts = mlp(16, 16, 16, 16);
  SpaceOptions options = on(8, 2);
  for (const char *text : {"b@data", "s@other"})
    ASSERT_EQ(parsePin(text, facts, options.pins.emplace_back()), "");
  Space space(facts, options);
  int64_t symmetric = 0;
  std::vector<SpaceNode> children = space.children(space.root(), symmetric);
  EXPECT_FALSE(children.empty());
  for (const SpaceNode &child : children) {
    const AxisUse &use = child.candidate.axes.front().use;
    EXPECT_TRUE(use.isOn(0) || use.isOn(1));
    EXPECT_FALSE(child.isLeaf());
  }
}

// A written axis of one rank comes after the last device.
TEST(Space, PinsOnAWrittenAxisOfOne) {
  ProgramFacts facts = mlp(4, 4, 8, 8);
  facts.mesh = {{"mine", 2, AxisRole::Model}, {"one", 1, AxisRole::Data}};
  SpaceOptions options = on(2);
  ASSERT_EQ(parsePin("b@one", facts, options.pins.emplace_back()), "");
  EXPECT_FALSE(Space(facts, options).leaves().empty());
}

TEST(Space, WrongPins) {
  ProgramFacts facts = mlp(4, 4, 8, 8);
  Pin pin;
  EXPECT_THAT(parsePin("z@dp", facts, pin),
              HasSubstr("pins index 'z', which the program does not have; it "
                        "has b, s, t, d, e"));
  EXPECT_THAT(parsePin("b", facts, pin), HasSubstr("'b' is no pin"));
  EXPECT_THAT(parsePin("b@dp=0", facts, pin), HasSubstr("at least 1"));
  auto check = [&](std::vector<Pin> pins) {
    SpaceOptions options = on(8);
    options.pins = std::move(pins);
    return Space(facts, options).check();
  };
  EXPECT_THAT(check({{0, "dp", 3}}), HasSubstr("b@dp=3 does not divide 8"));
  EXPECT_THAT(check({{0, "dp", 8}}), HasSubstr("extent 4 of 'b'"));
  EXPECT_THAT(check({{0, "a", 2}, {3, "a", 4}}),
              HasSubstr("pins give @a two sizes, 2 and 4"));
  EXPECT_THAT(check({{0, "dp", 8}}),
              HasSubstr("'b'; 4 does, or --extent b=8 does"));
  // Activations b and s on one axis: extents are not to blame.
  EXPECT_THAT(check({{0, "a", 2}, {1, "a", 2}}),
              AllOf(HasSubstr("no mesh of 8 devices has all that is pinned"),
                    Not(HasSubstr("e = 8"))));
  EXPECT_EQ(check({{0, "dp", 2}}), "");
}

// The message names the extent that no size divides, such as an odd one.
TEST(Space, PinsOfWhatNothingDivides) {
  ProgramFacts facts = mlp(4, 4, 8, 7);
  facts.classes[3].names = {"q", "g"};
  facts.classes[3].narrowest = "g";
  SpaceOptions options = on(8);
  options.pins = {{3, "tp", 8}};
  EXPECT_THAT(Space(facts, options).check(),
              HasSubstr("extent 7 of 'g'; --pad g=8 does"));
}

// Padding is not suggested if most of the padded extent would be empty, such as
// for a batch of one on eight ranks.
TEST(Space, PinsThatPaddingDoesNotHelp) {
  ProgramFacts facts = mlp(1, 12, 8, 3);
  auto check = [&](Pin pin) {
    SpaceOptions options = on(8);
    options.pins = {std::move(pin)};
    return Space(facts, options).check();
  };
  EXPECT_THAT(check({0, "dp", 8}),
              HasSubstr("extent 1 of 'b'; --extent b=8 does"));
  EXPECT_THAT(check({1, "cp", 8}),
              HasSubstr("'s'; 4 does, or --extent s=16 does"));
  EXPECT_THAT(check({3, "tp", 8}),
              HasSubstr("extent 3 of 'e'; --extent e=8 does"));
}

// A pin's axis must have a name that a program can write.
TEST(Space, PinsCallAxesAsProgramsCan) {
  ProgramFacts facts = mlp(4, 4, 8, 8);
  Pin pin;
  for (const char *text :
       {"b@1", "b@\"x\"", "b@x>", "b@x y", "b@x-y", "b@é", "b@1=2", "b@x\n"})
    EXPECT_THAT(parsePin(text, facts, pin),
                AllOf(HasSubstr("which no program can; an axis is called by a "
                                "letter or _"),
                      HasSubstr("as in b@dp")))
        << text;
  for (const char *text : {"b@dp", "b@_x", "b@x1.y$2=2"})
    EXPECT_EQ(parsePin(text, facts, pin), "") << text;
}

TEST(Space, NoFactorisation) {
  EXPECT_THAT(Space(mlp(4, 4, 8, 8), on(7)).check(),
              AllOf(HasSubstr("7 devices"), HasSubstr("e = 8")));
}

// Written axes are kept, in their order, with their roles.
TEST(Space, WrittenMesh) {
  ProgramFacts facts = mlp(4, 4, 8, 8);
  facts.mesh = {{"mine", 2, AxisRole::Model}};
  Space space(facts, on(4));
  ASSERT_EQ(space.check(), "");
  ASSERT_THAT(space.leaves(), Not(IsEmpty()));
  for (const Candidate &candidate : space.leaves()) {
    EXPECT_EQ(candidate.axes[0].name, "mine");
    EXPECT_EQ(candidate.axes[0].use.role, AxisRole::Model);
  }
  EXPECT_THAT(space.pure(), IsEmpty());
  EXPECT_THAT(Space(facts, on(3)).check(), HasSubstr("do not divide 3"));
}

static ProgramFacts layered(int64_t layers) {
  ProgramFacts facts = mlp(4, 4, 8, 8);
  facts.layers = layers;
  return facts;
}

// At most one axis divides layers, into no more parts than there are layers.
TEST(Space, Stages) {
  std::vector<std::string> texts = textsOf(Space(layered(3), on(8)));
  EXPECT_THAT(texts, Contains("pp=2 tp=4: parameters e@tp, layers @pp"));
  EXPECT_THAT(texts, Contains("pp=2 dp=2 tp=2: b@dp, parameters e@tp, "
                              "layers @pp"));
  std::set<std::string> all(texts.begin(), texts.end());
  EXPECT_EQ(all.size(), texts.size());
  for (const std::string &text : texts)
    EXPECT_THAT(text, AllOf(Not(HasSubstr("pp2")), Not(HasSubstr("pp=4")),
                            Not(HasSubstr("pp=8"))));
  EXPECT_THAT(textsOf(Space(layered(1), on(8))),
              Not(Contains(HasSubstr("layers"))));
  EXPECT_THAT(textsOf(Space(layered(4), on(4))), Contains("pp=4: layers @pp"));
}

// Between nodes stages may be inside of other axes. Within a node the order
// does not matter.
TEST(Space, StagesBetweenNodes) {
  SpaceOptions options = on(4, 2);
  const char *inside = "dp=2 pp=2: b@dp, layers @pp";
  EXPECT_THAT(textsOf(Space(layered(4), options)), Not(Contains(inside)));
  options.devicesPerNode = 2;
  EXPECT_THAT(textsOf(Space(layered(4), options)), Contains(inside));
}

TEST(Space, StagesThatAreAskedFor) {
  SpaceOptions options = on(8);
  options.stages = 2;
  for (const std::string &text : textsOf(Space(layered(8), options)))
    EXPECT_THAT(text, HasSubstr("pp=2"));
  options.stages = 1;
  EXPECT_THAT(textsOf(Space(layered(8), options)),
              Not(Contains(HasSubstr("layers"))));
  options.stages = 3;
  EXPECT_THAT(Space(layered(8), options).check(),
              HasSubstr("--stages 3 does not divide 8 devices"));
  options.stages = 4;
  EXPECT_THAT(Space(layered(3), options).check(),
              HasSubstr("of which it has 3; give at most as many"));
}

// Written stages are kept, and no other axis divides layers.
TEST(Space, WrittenStages) {
  ProgramFacts facts = layered(4);
  facts.mesh = {{"mine", 2, AxisRole::Stage}};
  EXPECT_THAT(textsOf(Space(facts, on(4, 2))),
              AllOf(Contains("mine=2 dp=2: b@dp, layers @mine"),
                    Not(Contains(HasSubstr("@pp")))));
  for (const Candidate &candidate : Space(facts, on(4)).leaves())
    EXPECT_EQ(candidate.numStages(), 2);
  SpaceOptions options = on(4);
  options.stages = 1;
  EXPECT_THAT(Space(facts, options).check(),
              HasSubstr("mesh has 2 stages, and --stages says 1"));
}

TEST(Space, StagesAloneAreUsual) {
  auto names = [](int64_t layers) {
    std::vector<std::string> result;
    ProgramFacts facts = layered(layers);
    for (const Candidate &candidate : Space(facts, on(4)).pure())
      result.push_back(usualName(candidate, facts));
    return result;
  };
  EXPECT_THAT(names(4), Contains("PP 4"));
  EXPECT_THAT(names(3), Not(Contains("PP 4")));
}

// For a target, the space has exactly the candidates that the target can
// express, whatever their settings.
TEST(Space, ForATarget) {
  ProgramFacts facts = mlp(16, 48, 8, 32);
  facts.layers = 8;
  SpaceOptions options;
  options.devices = 8;
  options.hasState = true;
  auto textsOf = [&](const std::vector<Candidate> &candidates) {
    std::set<std::string> texts;
    for (const Candidate &each : candidates)
      texts.insert(subscriptText(each, facts));
    return texts;
  };
  std::vector<Candidate> all = Space(facts, options).leaves();
  for (const Target &target : targets()) {
    options.reader.target = &target;
    std::vector<Candidate> expected;
    for (Candidate each : all) {
      each.settings = {8, "none", each.hasStages() ? "1f1b" : ""};
      if (whyNot(target, each, facts, {}).empty())
        expected.push_back(each);
    }
    Space space(facts, options);
    EXPECT_EQ(textsOf(space.leaves()), textsOf(expected)) << target.name;
    EXPECT_FALSE(expected.empty()) << target.name;
    EXPECT_LT(expected.size(), all.size()) << target.name;
    for (const Candidate &pure : space.pure())
      EXPECT_TRUE(options.reader.takesAxes(pure, facts)) << target.name;
  }
}

// Only a target's space has axes of experts alone.
TEST(Space, ExpertsAlone) {
  ProgramFacts facts = mlp(16, 48, 8, 32);
  facts.classes[3].hasOwnParameters = true;
  facts.classes.push_back({{"h"}, 32});
  TensorFacts other = facts.tensors[1];
  other.dims = {4, 2};
  facts.tensors.push_back(other);
  SpaceOptions options;
  options.devices = 4;
  options.maxAxes = 1;
  auto hasExpertsAlone = [&] {
    return llvm::any_of(
        Space(facts, options).leaves(), [](const Candidate &candidate) {
          return candidate.axes[0].use.parameters == std::vector<ClassId>{3};
        });
  };
  EXPECT_FALSE(hasExpertsAlone());
  options.reader.target = findTarget("megatron");
  EXPECT_TRUE(hasExpertsAlone());
}

// If the target takes no candidate, the problem has its reason.
TEST(Space, NothingForATarget) {
  ProgramFacts facts = mlp(16, 48, 8, 32);
  SpaceOptions options;
  options.devices = 1;
  options.reader.target = findTarget("hf");
  EXPECT_THAT(Space(facts, options).check(),
              testing::HasSubstr("transformers can express no plan on 1 "
                                 "device; one device, for instance: "));
}
