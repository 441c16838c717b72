#include "Generator.h"

#include "Options.h"

#include "tpsp/Abi/Optimizers.h"

#include <algorithm>
#include <map>

using namespace tpsp::property;

//===----------------------------------------------------------------------===//
// Meshes
//===----------------------------------------------------------------------===//

static std::vector<Axis> randomMesh(Random &random) {
  static constexpr unsigned counts[] = {0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3};
  static constexpr int64_t sizes[] = {1, 2, 2, 2, 2, 2, 3, 4, 4, 8};
  static const char *const roles[] = {"", "data", "model"};
  std::vector<std::string> names = {"dp", "tp", "cp", "x", "local_axis"};
  random.shuffle(names);
  std::vector<Axis> mesh;
  int64_t ranks = 1;
  for (unsigned n = random.of(counts); mesh.size() < n;) {
    int64_t size = random.of(sizes);
    if (ranks * size > 8)
      size = ranks * 2 > 8 ? 1 : 2;
    ranks *= size;
    mesh.push_back({names[mesh.size()], size, random.of(roles)});
  }
  return mesh;
}

//===----------------------------------------------------------------------===//
// Placements
//===----------------------------------------------------------------------===//

/// Pads one or two indices of arguments, so that any axes divide them.
static void choosePadding(Random &random, Program &program) {
  int64_t ranks = program.numRanks();
  for (unsigned n = 1 + random.below(2); n > 0; --n) {
    const Tensor &tensor = program.values[random.of(program.arguments).value];
    if (tensor.dims.empty())
      continue;
    int64_t multiple = ranks > 3 ? ranks : ranks * (1 + random.below(3));
    if (random.chance(0.3))
      ++multiple;
    auto &pad = program.pipeline.pad;
    const std::string name = random.of(tensor.dims).name;
    if (multiple > 1 && std::none_of(pad.begin(), pad.end(), [&](auto &each) {
          return each.first == name;
        }))
      pad.emplace_back(name, multiple);
  }
}

void tpsp::property::placeAtRandom(Random &random, const Program &program,
                                   Tensor &tensor, double probability) {
  std::vector<Axis> mesh = program.mesh;
  random.shuffle(mesh);
  for (const Axis &axis : mesh) {
    if (!random.chance(probability) || tensor.dims.empty())
      continue;
    Dim &dim = random.of(tensor.dims);
    if (program.canDivide(dim, axis.size))
      dim.axes.push_back(axis.name);
  }
}

static bool isUsedLinearly(const Program &program, ValueId value) {
  bool used = false;
  for (const Operation &op : program.operations) {
    if (!std::count(op.operands.begin(), op.operands.end(), value))
      continue;
    used = true;
    if (op.linear == Linear::No)
      return false;
  }
  return used;
}

/// Makes an argument pending over an axis that it does not use, if its uses
/// allow that.
static void makePartial(Random &random, Program &program, ValueId value) {
  Tensor &tensor = program.values[value];
  if (program.mesh.empty() || tensor.isInteger() ||
      !isUsedLinearly(program, value))
    return;
  const Axis &axis = random.of(program.mesh);
  if (tensor.uses(axis.name))
    return;
  tensor.pending.push_back(axis.name);
  if (random.chance(0.25))
    tensor.reduction = "max";
}

/// Places every value at random. This is legal, because any operand can be
/// gathered.
static void placeEverything(Random &random, Program &program) {
  for (Tensor &tensor : program.values)
    placeAtRandom(random, program, tensor, 0.6);
  divideOwnKeys(random, program);
  for (const Argument &argument : program.arguments)
    if (random.chance(0.15))
      makePartial(random, program, argument.value);
  program.kind = "placed by hand";
  program.expectation =
      program.hasHiddenValues() ? Expectation::Unknown : Expectation::Legal;
}

/// Gives every axis to one index name, on some of the tensors that have it, so
/// that operands never disagree. Intermediate values are left to the compiler.
static void placeByName(Random &random, Program &program,
                        const std::vector<std::string> &renamed) {
  std::map<std::string, std::vector<std::string>> axesOf;
  std::map<std::string, int64_t> ranks;
  for (const Axis &axis : program.mesh) {
    Tensor &tensor = program.values[random.of(program.arguments).value];
    if (tensor.dims.empty())
      continue;
    const Dim &dim = random.of(tensor.dims);
    // A view would move the axis to another name.
    if (std::count(renamed.begin(), renamed.end(), dim.name))
      continue;
    int64_t &count = ranks.try_emplace(dim.name, 1).first->second;
    if (program.extentToRun(dim) % (count * axis.size) != 0)
      continue;
    count *= axis.size;
    axesOf[dim.name].push_back(axis.name);
  }
  for (ValueId value = 0; value < program.values.size(); ++value) {
    Tensor &tensor = program.values[value];
    bool isResult =
        std::count(program.results.begin(), program.results.end(), value) != 0;
    if (!program.argument(value) && !(isResult && random.chance(0.5))) {
      tensor.unplaced = true;
      continue;
    }
    for (Dim &dim : tensor.dims)
      for (const std::string &axis : axesOf[dim.name])
        if (random.chance(0.8))
          dim.axes.push_back(axis);
  }
  program.kind = "one index for each axis";
  program.expectation = Expectation::Legal;
}

static bool isView(const Operation &op) {
  static const char *const views[] = {"rename", "split", "merge", "reshard"};
  return std::find(std::begin(views), std::end(views), op.mnemonic) !=
         std::end(views);
}

/// Whether a value is a parameter or a view of one.
static bool isParameter(const Program &program, ValueId value) {
  while (const Operation *op = program.definition(value)) {
    if (!isView(*op))
      return false;
    value = op->operands.front();
  }
  return program.argument(value)->isParameter;
}

/// Whether a value may be a parameter after elementwise changes, which count as
/// the parameter.
static bool isChangedParameter(const Program &program, ValueId value) {
  bool isChanged = false;
  while (const Operation *op = program.definition(value)) {
    if (op->operands.size() != 1 && !isView(*op))
      return false;
    isChanged |= !isView(*op);
    value = op->operands.front();
  }
  return isChanged && program.argument(value)->isParameter;
}

/// Whether at every operation the roles decide which operand's axes stay,
/// because it has one parameter and one activation. A norm's parameters do not
/// count: its indices are whole.
static bool rolesDecide(const Program &program) {
  for (const Operation &op : program.operations) {
    std::vector<ValueId> distinct = op.operands;
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()),
                   distinct.end());
    unsigned parameters = 0;
    for (ValueId value : distinct) {
      parameters += isParameter(program, value);
      if (isChangedParameter(program, value))
        return false;
    }
    bool isNorm = op.mnemonic == "rms_norm" || op.mnemonic == "layer_norm";
    if (distinct.size() > 1 && !isNorm &&
        !(distinct.size() == 2 && parameters == 1))
      return false;
  }
  return true;
}

/// Places arguments at random; roles decide the other values.
static void placeByRole(Random &random, Program &program) {
  for (Axis &axis : program.mesh)
    axis.role = random.chance(0.5) ? "data" : "model";
  for (ValueId value = 0; value < program.values.size(); ++value) {
    Tensor &tensor = program.values[value];
    bool isResult =
        std::count(program.results.begin(), program.results.end(), value) != 0;
    if (program.argument(value) || (isResult && random.chance(0.3)))
      placeAtRandom(random, program, tensor, 0.5);
    else
      tensor.unplaced = true;
  }
  program.kind = "axis roles decide";
  program.expectation =
      rolesDecide(program) ? Expectation::Legal : Expectation::Unknown;
}

/// Places values in any way: some placed, some not, some partial.
static void placeWildly(Random &random, Program &program) {
  for (ValueId value = 0; value < program.values.size(); ++value) {
    Tensor &tensor = program.values[value];
    bool placed = program.argument(value) || random.chance(0.35);
    tensor.unplaced = !placed;
    if (!placed)
      continue;
    placeAtRandom(random, program, tensor, 0.5);
    if (program.mesh.empty() || !random.chance(0.05))
      continue;
    const Axis &axis = random.of(program.mesh);
    if (!tensor.uses(axis.name))
      tensor.pending.push_back(axis.name);
  }
  divideOwnKeys(random, program);
  program.kind = "anything";
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

static std::vector<OperationRule> rulesOf(Vocabulary vocabulary) {
  std::vector<OperationRule> rules = numberRules();
  if (vocabulary == Vocabulary::NumbersAndIntegers)
    rules.insert(rules.end(), integerRules().begin(), integerRules().end());
  return rules;
}

static void addOperation(ProgramBuilder &builder,
                         const std::vector<OperationRule> &rules) {
  unsigned total = 0;
  for (const OperationRule &rule : rules)
    total += rule.weight;
  for (int attempt = 0; attempt < 20; ++attempt) {
    unsigned at = builder.random.below(total);
    const OperationRule *rule = rules.data();
    for (; at >= rule->weight; ++rule)
      at -= rule->weight;
    if (builder.onlyArguments && rule->mixesActivations)
      continue;
    size_t before = builder.program.operations.size();
    if (!rule->apply(builder))
      continue;
    for (size_t i = before; i < builder.program.operations.size(); ++i) {
      Operation &op = builder.program.operations[i];
      if (op.mnemonic == rule->mnemonic && op.linear == Linear::No)
        op.linear = rule->linear;
    }
    return;
  }
}

/// Chooses the last value and some others: often values that nothing uses, now
/// and then an argument or the same value again.
static void chooseResults(Random &random, Program &program) {
  program.results.push_back(program.operations.back().result);
  for (const Operation &op : program.operations) {
    bool used = false;
    for (const Operation &user : program.operations)
      used |= std::count(user.operands.begin(), user.operands.end(),
                         op.result) != 0;
    if (op.result != program.results.front() &&
        !program.values[op.result].hides && random.chance(used ? 0.08 : 0.7))
      program.results.push_back(op.result);
  }
  if (random.chance(0.05))
    program.results.push_back(random.of(program.arguments).value);
  if (random.chance(0.03))
    program.results.push_back(program.results.front());
  random.shuffle(program.results);
}

static void writeProgram(Random &random, ProgramBuilder &builder,
                         unsigned operations, Vocabulary vocabulary) {
  std::vector<OperationRule> rules = rulesOf(vocabulary);
  Program &program = builder.program;
  for (unsigned n = 1 + random.below(2); n > 0; --n)
    builder.argument(builder.someIndices(2 + random.below(3)),
                     /*isParameter=*/false);
  if (builder.onlyArguments) // from here on there is an activation
    builder.add("scale", {0}, builder.tensor(0).dims, builder.range(0),
                "{factor = 1.25 : f64}");
  while (program.operations.size() < operations)
    addOperation(builder, rules);
  for (Operation &op : program.operations)
    if (op.mnemonic == "scale")
      op.linear = Linear::Jointly;
  chooseResults(random, program);
}

/// Whether every argument that has the index `name` has it on the same axes,
/// and a rank's part of it divides into `parts`.
static bool canCut(const Program &program, const std::string &name,
                   int64_t parts) {
  const Dim *first = nullptr;
  for (const Argument &argument : program.arguments) {
    const Dim *dim = program.values[argument.value].find(name);
    if (!dim)
      continue;
    if (dim->extent % (program.rankCount(*dim) * parts) != 0 ||
        (first && first->axes != dim->axes))
      return false;
    first = dim;
  }
  return true;
}

/// Chooses an index of an argument to cut, mostly one that can be cut.
static void chooseMicroBatches(Random &random, Program &program) {
  for (int attempt = 0; attempt < 20; ++attempt) {
    const Tensor &tensor = program.values[random.of(program.arguments).value];
    if (tensor.dims.empty())
      continue;
    program.pipeline.microBatchIndex = random.of(tensor.dims).name;
    // With overlap more than `mostWrittenOut` are scheduled otherwise.
    program.pipeline.microBatches =
        random.chance(0.3) ? 5 + random.below(4) : 2 + random.below(3);
    if (canCut(program, program.pipeline.microBatchIndex,
               program.pipeline.microBatches) ||
        random.chance(0.02))
      return;
  }
}

static void chooseUpdate(Random &random, Program &program) {
  // A parameter that is a sum cannot be updated.
  for (const Argument &argument : program.arguments)
    if (argument.isParameter && !program.values[argument.value].pending.empty())
      return;
  std::vector<std::string> optimizers = tpsp::optimizerNames();
  PipelineChoices &pipeline = program.pipeline;
  pipeline.optimizer = random.of(optimizers);
  for (const Axis &axis : program.mesh)
    if (random.chance(0.5))
      pipeline.optimizerAxes.push_back(axis.name);
  if (random.chance(0.5))
    pipeline.clip = random.chance(0.5) ? 0.01 : 1e6;
  if (random.chance(0.3))
    pipeline.gatherParameters = "forward";
  if (random.chance(0.3))
    pipeline.lossScale = random.chance(0.5) ? "8" : "dynamic:16";
}

/// Whether numbers after the tensors have the index of queries or keys.
static bool hasBias(const Program &program, const Operation &attention) {
  if (attention.operands.size() <= 3)
    return false;
  const Tensor &extra = program.values[attention.operands[3]];
  auto isOfScores = [&](const Dim &dim) {
    for (const char *role : {"query = ", "key = "})
      if (attention.attributes.find(role + quoted(dim.name)) !=
          std::string::npos)
        return true;
    return false;
  };
  return !extra.isInteger() &&
         std::any_of(extra.dims.begin(), extra.dims.end(), isOfScores);
}

/// Whether an attention has a bias, which attention in blocks refuses.
static bool hasBias(const Program &program) {
  return std::any_of(program.operations.begin(), program.operations.end(),
                     [&](const Operation &op) {
                       return op.mnemonic == "attention" &&
                              hasBias(program, op);
                     });
}

/// Divides the operations over stages. No value's placement has their axis.
static void chooseStages(Random &random, Program &program) {
  static const char *const schedules[] = {"gpipe", "1f1b", "zero-bubble"};
  PipelineChoices &pipeline = program.pipeline;
  constexpr int64_t mostRanks = 12;
  int64_t stages = 2 + random.below(2);
  if (pipeline.microBatches == 1 || program.numRanks() * stages > mostRanks)
    return;
  pipeline.stages = stages;
  pipeline.chunks = stages * (1 + random.below(3));
  if (random.chance(0.5))
    pipeline.stagePlacement = "folded";
  pipeline.stageSchedule = random.of(schedules);
  if (pipeline.hardware == "h100-sxm")
    pipeline.hardware = "h100-sxm-cluster"; // a node has too few devices
  program.mesh.push_back({"pp", stages, "stage"});
}

static void choosePipeline(Random &random, Program &program) {
  static const char *const redone[] = {"none", "none", "selective", "full"};
  PipelineChoices &pipeline = program.pipeline;
  if (random.chance(0.3))
    chooseMicroBatches(random, program);
  if (random.chance(0.3))
    pipeline.reduceGradients = "part";
  // A program in f64 is compared too exactly to be rounded to f32.
  if (program.element != "f64" && random.chance(0.3))
    pipeline.reduceDtype = "f32";
  pipeline.rematerialize = random.of(redone);
  pipeline.keepGathered = random.chance(0.2);
  pipeline.keepMasks = random.chance(0.3);
  if (random.chance(0.2))
    pipeline.shardReplicated = "memory";
  if (random.chance(0.3))
    pipeline.bucketBytes = random.chance(0.5) ? 0 : 256;
  if (program.grad && random.chance(0.3))
    chooseUpdate(random, program);
  pipeline.overlap = random.chance(0.5);
  // On this machine even small tensors' communication is worth hiding.
  if (pipeline.overlap && random.chance(0.8))
    pipeline.hardware = "h100-sxm";
  pipeline.overlapChunks = random.below(4);
  pipeline.overlapMemory = 0.5 * random.below(3);
  if (random.chance(0.5))
    chooseStages(random, program);
  if (!program.uses("attention"))
    return;
  if (!hasBias(program) && random.chance(0.4))
    pipeline.attentionBlock = 1 + random.below(6);
  else
    pipeline.attentionFused = random.chance(0.6);
  if (random.chance(0.7))
    pipeline.balanceAttention = "on";
  pipeline.attentionRing = pipeline.attentionFused && random.chance(0.5);
}

Program tpsp::property::generate(uint64_t seed) {
  Random random(seed);
  enum { ByHand, ByName, ByRole, Wild, Mistaken };
  static constexpr int kinds[] = {
      ByHand, ByHand, ByHand, ByHand, ByHand,   ByName,   ByName,
      ByName, ByName, ByRole, ByRole, ByRole,   Wild,     Wild,
      Wild,   Wild,   Wild,   Wild,   Mistaken, Mistaken, Mistaken};
  int kind = random.of(kinds);
  Program program;
  program.mesh = randomMesh(random);
  program.grad = random.chance(0.85);
  static const char *const elements[] = {"f64", "f64", "f64",  "f64", "f64",
                                         "f32", "f32", "bf16", "f16"};
  program.element = random.of(elements);
  if (!options().element.empty())
    program.element = options().element;
  ProgramBuilder builder(random, program);
  builder.onlyArguments = kind == ByRole;
  writeProgram(random, builder, 1 + random.below(7),
               Vocabulary::NumbersAndIntegers);
  if (kind != Mistaken && random.chance(0.25))
    choosePadding(random, program);
  if (kind == ByName)
    placeByName(random, program, builder.renamed);
  else if (kind == ByRole)
    placeByRole(random, program);
  else if (kind == Wild)
    placeWildly(random, program);
  else
    placeEverything(random, program);
  if (kind == Mistaken)
    makeMistake(random, program);
  else if (random.chance(0.5))
    choosePipeline(random, program);
  return program;
}

Program tpsp::property::generateLegal(uint64_t seed, unsigned operations) {
  Random random(seed);
  Program program;
  program.mesh = randomMesh(random);
  program.grad = random.chance(0.7);
  ProgramBuilder builder(random, program);
  bool byRole = random.chance(0.4);
  builder.onlyArguments = byRole;
  writeProgram(random, builder, 1 + random.below(operations),
               Vocabulary::Numbers);
  if (byRole)
    placeByRole(random, program);
  else if (random.chance(0.4))
    placeByName(random, program, builder.renamed);
  else
    placeEverything(random, program);
  return program;
}
