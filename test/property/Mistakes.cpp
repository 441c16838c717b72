// Mistakes in programs, one entry each.
#include "Generator.h"

#include <algorithm>

using namespace tpsp::property;

namespace {

struct Mistake {
  const char *name;
  /// Makes the mistake, or returns false if the program does not allow it.
  bool (*make)(Random &random, Program &program);
  /// The message must contain one of these.
  std::vector<std::string> messages;
};

} // namespace

static bool isUsed(const Program &program, ValueId value) {
  for (const Operation &op : program.operations)
    if (std::count(op.operands.begin(), op.operands.end(), value))
      return true;
  return false;
}

/// Returns an argument of numbers, not integers.
static ValueId someArgument(Random &random, const Program &program) {
  std::vector<ValueId> fitting;
  for (const Argument &argument : program.arguments)
    if (!program.values[argument.value].isInteger())
      fitting.push_back(argument.value);
  return random.of(fitting); // there is one: the first
}

/// Returns an argument that some operation uses and for which `fits` holds.
template <typename Fits>
static Tensor *usedArgument(Random &random, Program &program, Fits fits) {
  std::vector<ValueId> fitting;
  for (const Argument &argument : program.arguments)
    if (!program.values[argument.value].isInteger() &&
        isUsed(program, argument.value) && fits(program.values[argument.value]))
      fitting.push_back(argument.value);
  return fitting.empty() ? nullptr : &program.values[random.of(fitting)];
}

/// Returns the first operand of `op` if it is an argument, else null.
static Tensor *firstArgument(Program &program, const Operation &op) {
  if (op.operands.empty() || !program.argument(op.operands.front()))
    return nullptr;
  return &program.values[op.operands.front()];
}

static void clearPlacement(Tensor &tensor) {
  tensor.pending.clear();
  for (Dim &dim : tensor.dims)
    dim.axes.clear();
}

/// Whether an axis may be on a dimension. Data axes cut parameters as rows of
/// elements, whatever their extents.
static bool mayDivide(const Program &program, const Tensor &tensor,
                      const Dim &dim, const Axis &axis) {
  const Argument *argument = program.argument(&tensor - program.values.data());
  bool isParameter = argument && argument->isParameter;
  return dim.extent % axis.size == 0 || (isParameter && axis.role != "model");
}

static bool isUneven(const Program &program, const Tensor &tensor) {
  for (const Dim &dim : tensor.dims)
    for (const Axis &axis : program.mesh)
      if (!mayDivide(program, tensor, dim, axis))
        return true;
  return false;
}

static bool shardUnevenly(Random &random, Program &program) {
  for (Tensor &tensor : program.values) {
    if (!isUneven(program, tensor) || random.chance(0.3))
      continue;
    clearPlacement(tensor);
    for (Dim &dim : tensor.dims)
      for (const Axis &axis : program.mesh)
        if (!mayDivide(program, tensor, dim, axis)) {
          dim.axes = {axis.name};
          return true;
        }
  }
  return false;
}

static bool useAxisTwice(Random &random, Program &program) {
  Tensor *tensor = usedArgument(random, program, [](const Tensor &tensor) {
    return tensor.dims.size() >= 2;
  });
  if (!tensor || program.mesh.empty())
    return false;
  clearPlacement(*tensor);
  const std::string &axis = random.of(program.mesh).name;
  tensor->dims[0].axes = {axis};
  if (random.chance(0.5))
    tensor->dims[1].axes = {axis};
  else
    tensor->pending = {axis};
  return true;
}

static bool useUnknownAxis(Random &random, Program &program) {
  Tensor &tensor = random.of(program.values);
  if (tensor.dims.empty())
    return false;
  random.of(tensor.dims).axes.push_back("unknown");
  return true;
}

static bool leaveArgumentUnplaced(Random &random, Program &program) {
  Tensor &tensor = program.values[someArgument(random, program)];
  clearPlacement(tensor);
  tensor.unplaced = true;
  return true;
}

static bool passSumToNonlinear(Random &random, Program &program) {
  for (const Operation &op : program.operations) {
    Tensor *tensor = firstArgument(program, op);
    if (op.linear != Linear::No || program.mesh.empty() || !tensor ||
        tensor->isInteger())
      continue;
    clearPlacement(*tensor);
    tensor->pending = {random.of(program.mesh).name};
    return true;
  }
  return false;
}

/// Requests a summand of a whole tensor.
static bool wantSummand(Random &random, Program &program) {
  for (const Operation &op : program.operations)
    for (const Axis &axis : program.mesh) {
      bool usesAxis = false;
      for (ValueId operand : op.operands)
        usesAxis |= program.values[operand].uses(axis.name);
      if (usesAxis || random.chance(0.3))
        continue;
      Tensor &result = program.values[op.result];
      clearPlacement(result);
      result.pending = {axis.name};
      program.results.push_back(op.result); // else nothing may ask for it
      return true;
    }
  return false;
}

static bool inventIndex(Random &random, Program &program) {
  for (const Operation &op : program.operations)
    if (op.mnemonic == "einsum" || op.mnemonic == "add" ||
        op.mnemonic == "gelu" || op.mnemonic == "reduce") {
      program.values[op.result].dims.push_back({"invented", 2, {}});
      return true;
    }
  return false;
}

static bool disagreeOnExtent(Random &random, Program &program) {
  for (const Operation &op : program.operations) {
    if (op.mnemonic != "einsum" && op.mnemonic != "mul")
      continue;
    for (ValueId value : op.operands) {
      unsigned users = 0;
      for (const Operation &user : program.operations)
        users += std::count(user.operands.begin(), user.operands.end(), value);
      if (users != 1 || !program.argument(value))
        continue;
      for (Dim &dim : program.values[value].dims)
        if (program.values[op.result].find(dim.name)) {
          dim.extent += 1;
          dim.axes.clear();
          return true;
        }
    }
  }
  return false;
}

static ValueId addArgument(Program &program, std::vector<Dim> dims,
                           bool isParameter) {
  program.values.emplace_back();
  program.values.back().dims = std::move(dims);
  program.arguments.push_back(
      {ValueId(program.values.size() - 1), isParameter});
  return program.values.size() - 1;
}

static ValueId addOperation(Program &program, const std::string &mnemonic,
                            std::vector<ValueId> operands,
                            std::vector<Dim> dims,
                            const std::string &attributes = "") {
  for (Dim &dim : dims)
    dim.axes.clear();
  ValueId result = program.values.size();
  program.values.emplace_back();
  program.values.back().dims = std::move(dims);
  program.operations.push_back({mnemonic, operands, attributes, result});
  program.results.push_back(result);
  return result;
}

/// Puts an axis without a role on free indices of both operands.
static bool leaveAmbiguous(Random &random, Program &program) {
  if (program.mesh.empty())
    return false;
  Axis &axis = random.of(program.mesh);
  if (axis.size == 1) // which divides nothing
    return false;
  axis.role.clear();
  int64_t extent = 2 * axis.size;
  ValueId x =
      addArgument(program, {{"q", extent, {axis.name}}, {"r", 3, {}}}, false);
  ValueId w =
      addArgument(program, {{"t", extent, {axis.name}}, {"r", 3, {}}}, true);
  ValueId y = addOperation(program, "einsum", {x, w},
                           {{"q", extent, {}}, {"t", extent, {}}});
  program.values[y].unplaced = true;
  return true;
}

/// Whether the operation takes operands of several precisions (rule I7).
static bool mixesPrecision(const Operation &op) {
  return op.mnemonic == "add" || op.mnemonic == "convert" ||
         (op.mnemonic == "attention" && op.operands.size() > 3);
}

static bool mixElementTypes(Random &random, Program &program) {
  for (const Operation &op : program.operations) {
    if (op.operands.empty() || mixesPrecision(op))
      continue;
    ValueId value = op.operands.back();
    if (op.operands.front() == value || !program.argument(value) ||
        program.values[value].isInteger() ||
        program.values[op.operands.front()].isInteger())
      continue;
    program.values[value].element = program.element == "f32" ? "f64" : "f32";
    return true;
  }
  return false;
}

static bool normalizeOverNothing(Random &random, Program &program) {
  ValueId x = someArgument(random, program);
  addOperation(program, "softmax", {x}, program.values[x].dims,
               "{over = \"missing\"}");
  return true;
}

static bool nameTwice(Random &random, Program &program) {
  Tensor *tensor = usedArgument(random, program, [](const Tensor &tensor) {
    return tensor.dims.size() >= 2;
  });
  if (!tensor)
    return false;
  tensor->dims[1].name = tensor->dims[0].name;
  return true;
}

static bool leaveExtentOpen(Random &random, Program &program) {
  Tensor *tensor = usedArgument(random, program, [](const Tensor &tensor) {
    return !tensor.dims.empty();
  });
  if (!tensor)
    return false;
  clearPlacement(*tensor);
  tensor->dims.back().extent = -1;
  return true;
}

static bool rotateOddFeature(Random &random, Program &program) {
  ValueId x = addArgument(program, {{"q", 4, {}}, {"r", 3, {}}}, false);
  addOperation(program, "rope", {x}, program.values[x].dims,
               "{position = \"q\", feature = \"r\"}");
  return true;
}

/// Makes an argument of integers partial.
static bool addUpIntegers(Random &random, Program &program) {
  for (const Operation &op : program.operations) {
    Tensor *tensor = firstArgument(program, op);
    if (program.mesh.empty() || !tensor || !tensor->isInteger())
      continue;
    clearPlacement(*tensor);
    tensor->pending = {random.of(program.mesh).name};
    return true;
  }
  return false;
}

/// Makes positions numbers instead of integers.
static bool lookUpByNumbers(Random &, Program &program) {
  for (const Operation &op : program.operations) {
    Tensor *tensor = firstArgument(program, op);
    if (!tensor || !tensor->isInteger())
      continue;
    tensor->element.clear();
    tensor->below = 0;
    return true;
  }
  return false;
}

static bool multiplyThree(Random &random, Program &program) {
  ValueId x = someArgument(random, program);
  addOperation(program, "einsum", {x, x, x}, program.values[x].dims);
  return true;
}

static const std::vector<Mistake> &mistakes() {
  static const std::vector<Mistake> table = {
      {"uneven extent", shardUnevenly, {"do not divide"}},
      {"axis used twice", useAxisTwice, {"is on both", "is both pending"}},
      {"unknown axis",
       useUnknownAxis,
       {"which the mesh does not have", "the module has no mesh"}},
      {"unplaced argument", leaveArgumentUnplaced, {"is not placed"}},
      {"sum into nonlinear", passSumToNonlinear, {"is partial over"}},
      {"summand wanted",
       wantSummand,
       {"has no legal compute placement", "is partial over"}},
      {"index from nowhere", inventIndex, {"which no operand has"}},
      {"two extents", disagreeOnExtent, {"one name means one extent"}},
      {"ambiguous axis", leaveAmbiguous, {"is on different indices"}},
      {"two element types", mixElementTypes, {"computes in one type"}},
      {"softmax over nothing",
       normalizeOverNothing,
       {"is not an index of", "is partial over"}},
      {"name twice", nameTwice, {"appears twice"}},
      {"dynamic extent", leaveExtentOpen, {"has a dynamic extent"}},
      {"odd rotation", rotateOddFeature, {"has the odd extent"}},
      {"sum of integers", addUpIntegers, {"is partial over"}},
      {"numbers for positions",
       lookUpByNumbers,
       {"i32", "is the step's number"}},
      {"product of three", multiplyThree, {"takes 1 or 2 operands"}},
  };
  return table;
}

bool tpsp::property::makeMistake(Random &random, Program &program) {
  std::vector<Mistake> some = mistakes();
  random.shuffle(some);
  for (const Mistake &mistake : some) {
    if (!mistake.make(random, program))
      continue;
    program.kind = std::string("mistake: ") + mistake.name;
    program.messages = mistake.messages;
    program.expectation = Expectation::Illegal;
    return true;
  }
  return false;
}
