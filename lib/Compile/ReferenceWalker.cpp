#include "ReferenceWalker.h"

#include "tpsp/Dialect/Tpsp/IR/SourceNames.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace tpsp;

using reference::IndexNames;
using reference::Shape;

IndexNames tpsp::referenceIndices(Type type) {
  IndexNames names;
  for (StringRef name : indexNames(type))
    names.push_back(name.str());
  return names;
}

Shape tpsp::referenceShape(Type type) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(type).getShape();
  return Shape(shape.begin(), shape.end());
}

static std::string locationOf(Operation *op) {
  return formatLocation(op->getLoc());
}

/// "loc: 'what' message".
static llvm::Error errorAt(Operation *op, const Twine &message) {
  return llvm::createStringError(locationOf(op) + ": '" +
                                 op->getName().getStringRef() + "' " + message);
}

/// The value of an attribute that the reference can use: numbers, flags, names.
static std::optional<reference::Attribute> plainAttribute(Attribute attribute) {
  if (auto number = dyn_cast<FloatAttr>(attribute))
    return number.getValueAsDouble();
  if (isa<UnitAttr>(attribute))
    return true;
  if (auto flag = dyn_cast<BoolAttr>(attribute))
    return flag.getValue();
  if (auto number = dyn_cast<IntegerAttr>(attribute))
    return number.getInt();
  if (auto text = dyn_cast<StringAttr>(attribute))
    return text.str();
  IndexNames names;
  if (auto numbers = dyn_cast<DenseI64ArrayAttr>(attribute)) {
    for (int64_t number : numbers.asArrayRef())
      names.push_back(std::to_string(number));
    return names;
  }
  auto list = dyn_cast<ArrayAttr>(attribute);
  if (!list || !llvm::all_of(list, llvm::IsaPred<StringAttr>))
    return std::nullopt;
  for (StringAttr name : list.getAsRange<StringAttr>())
    names.push_back(name.str());
  return names;
}

/// An operation's inherent attributes, without those that passes added.
static std::map<std::string, reference::Attribute> attributesOf(Operation *op) {
  std::map<std::string, reference::Attribute> attributes;
  for (StringAttr name : op->getName().getAttributeNames())
    if (std::optional<Attribute> value = op->getInherentAttr(name))
      if (*value)
        if (auto plain = plainAttribute(*value))
          attributes.emplace(name.str(), std::move(*plain));
  return attributes;
}

static reference::Element elementOf(Type type) {
  Type element = cast<RankedTensorType>(type).getElementType();
  if (element.isF32())
    return reference::Element::F32;
  if (element.isBF16())
    return reference::Element::BF16;
  if (element.isF16())
    return reference::Element::F16;
  return element.isF64() ? reference::Element::F64
                         : reference::Element::Integer;
}

std::optional<reference::Element> tpsp::referenceElement(StringRef name) {
  return llvm::StringSwitch<std::optional<reference::Element>>(name)
      .Case("f64", reference::Element::F64)
      .Case("f32", reference::Element::F32)
      .Case("bf16", reference::Element::BF16)
      .Case("f16", reference::Element::F16)
      .Default(std::nullopt);
}

/// Whether it is a collective on whole tensors: it moves a tensor and changes
/// no value.
static bool isIdentity(Operation *op) {
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  return collective && collective.getShift() == 0 &&
         op->getNumOperands() == op->getNumResults();
}

static llvm::Error checkArgument(func::FuncOp function, BlockArgument value) {
  std::string role = "argument #" + std::to_string(value.getArgNumber());
  IdxAttr idx = getIdx(value);
  if (!idx)
    return errorAt(function, role + " is not a tensor with subscripts");
  if (idx.getLocal())
    return errorAt(function, role + " is one rank's part; the reference "
                                    "evaluates global shapes");
  return llvm::Error::success();
}

namespace {

/// Appends operations to a program.
class Recorder {
public:
  explicit Recorder(reference::Program &program) : program(program) {}

  /// Adds a new value to the program.
  void add(Value value) {
    numbers[value] = program.values.size();
    Type type = value.getType();
    program.values.push_back(
        {referenceIndices(type), referenceShape(type), elementOf(type)});
  }
  /// Maps the value to the program's value of this number.
  void map(Value value, size_t number) { numbers[value] = number; }

  /// Records the function's operations and results.
  llvm::Error record(func::FuncOp function) {
    Block &body = function.getBody().front();
    for (Operation &op : body.without_terminator())
      if (llvm::Error error = record(&op))
        return error;
    for (Value result : body.getTerminator()->getOperands())
      program.results.push_back(numbers.lookup(result));
    return llvm::Error::success();
  }

private:
  llvm::Error record(Operation *op) {
    if (isIdentity(op)) {
      for (auto [from, to] : llvm::zip(op->getOperands(), op->getResults()))
        numbers[to] = numbers.lookup(from);
      return llvm::Error::success();
    }
    if (op->getNumResults() == 0)
      return errorAt(op, "has no evaluation in the reference");
    reference::Operation described;
    described.name = op->getName().stripDialect().str();
    described.location = locationOf(op);
    for (Value operand : op->getOperands())
      described.operands.push_back(numbers.lookup(operand));
    described.attributes = attributesOf(op);
    // An operation of the reference has one result, so one is recorded per
    // result.
    for (OpResult result : op->getResults()) {
      if (result.getResultNumber() > 0)
        described.attributes["result"] = int64_t(result.getResultNumber());
      if (auto named = result.getLoc()->findInstanceOf<NameLoc>())
        described.result = named.getName().str();
      program.operations.push_back(described);
      add(result);
    }
    return llvm::Error::success();
  }

  reference::Program &program;
  llvm::DenseMap<Value, size_t> numbers;
};

} // namespace

llvm::Expected<reference::Program>
tpsp::referenceProgramOf(func::FuncOp function) {
  if (!function.getBody().hasOneBlock())
    return errorAt(function, "is not straight-line: the reference evaluates "
                             "functions of one block");
  reference::Program program;
  Recorder recorder(program);
  for (BlockArgument argument : function.getArguments()) {
    if (llvm::Error error = checkArgument(function, argument))
      return error;
    recorder.add(argument);
  }
  program.arguments = program.values.size();
  if (llvm::Error error = recorder.record(function))
    return error;
  return program;
}

/// Scales a gradient: the reference's gradients belong to the loss, the
/// update's to the loss times its scale.
static void scaleGradient(func::FuncOp update, BlockArgument gradient,
                          Recorder &recorder, reference::Program &program) {
  size_t number = program.values.size() - 1;
  if (auto fixed = update->getAttrOfType<FloatAttr>(lossScaleAttrName)) {
    program.lossScale = fixed.getValueAsDouble();
    program.operations.push_back({"scale",
                                  locationOf(update),
                                  {number},
                                  {{"factor", program.lossScale}}});
  } else if (auto of = update->getAttrOfType<IntegerAttr>(lossScaleAttrName)) {
    program.lossScaleArgument = of.getInt();
    program.operations.push_back(
        {"mul", locationOf(update), {number, size_t(of.getInt())}, {}});
  } else {
    return;
  }
  recorder.add(gradient);
}

llvm::Error tpsp::addUpdate(func::FuncOp update, reference::Program &program) {
  Recorder recorder(program);
  size_t before = program.operations.size();
  for (BlockArgument argument : update.getArguments()) {
    unsigned number = argument.getArgNumber();
    auto of = update.getArgAttrOfType<IntegerAttr>(number, gradientAttrName);
    if (!of) {
      recorder.map(argument, number);
      continue;
    }
    program.operations.push_back(
        {"gradient", locationOf(update), {size_t(of.getInt())}, {}});
    recorder.add(argument);
    scaleGradient(update, argument, recorder, program);
  }
  if (llvm::Error error = recorder.record(update))
    return error;
  program.updates = program.operations.size() - before;
  return llvm::Error::success();
}

void tpsp::addGradients(func::FuncOp differentiated,
                        reference::Program &program) {
  auto collect = [](unsigned count, auto attribute, std::vector<size_t> &out) {
    for (unsigned i = 0; i < count; ++i)
      if (auto number = dyn_cast_or_null<IntegerAttr>(attribute(i)))
        out.push_back(number.getInt());
  };
  collect(
      differentiated.getNumArguments(),
      [&](unsigned i) {
        return differentiated.getArgAttr(i, cotangentAttrName);
      },
      program.cotangents);
  collect(
      differentiated.getNumResults(),
      [&](unsigned i) {
        return differentiated.getResultAttr(i, gradientAttrName);
      },
      program.gradients);
}
