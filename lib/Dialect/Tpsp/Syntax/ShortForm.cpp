#include "tpsp/Dialect/Tpsp/Syntax/ShortForm.h"
#include "tpsp/Dialect/Tpsp/IR/Padding.h"

#include "ProgramResolution.h"
#include "RepeatedCalls.h"

#include "tpsp/Dialect/Tpsp/IR/MeshOp.h"
#include "tpsp/Dialect/Tpsp/Operations/ViewOps.h"

#include "mlir/IR/OperationSupport.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

using namespace mlir;
using namespace tpsp;

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

/// The shortest text that reads back as this number.
static std::string numberText(double number) {
  std::string text;
  for (int digits = 6; digits <= 17; ++digits) {
    text.clear();
    llvm::raw_string_ostream(text) << llvm::format("%.*g", digits, number);
    if (std::strtod(text.c_str(), nullptr) == number)
      break;
  }
  return text;
}

/// The number as MLIR's own reader needs it: it takes a number without a point
/// for an integer.
static std::string withPoint(std::string number) {
  if (!StringRef(number).contains('.'))
    number.insert(std::min(number.find('e'), number.size()), ".0");
  return number;
}

static std::string attributeText(NamedAttribute attr) {
  std::string text = attr.getName().str();
  if (isa<UnitAttr>(attr.getValue()))
    return text;
  auto number = dyn_cast<FloatAttr>(attr.getValue());
  if (number && number.getType().isF64() && number.getValue().isFinite()) {
    std::string digits = numberText(number.getValueAsDouble());
    // MLIR parses attributes of arguments and results, whose names have a
    // prefix.
    return text + " = " + (attr.getNameDialect() ? withPoint(digits) : digits);
  }
  llvm::raw_string_ostream out(text);
  auto integer = dyn_cast<IntegerAttr>(attr.getValue());
  bool isPlain = integer && integer.getType().isInteger(64);
  out << " = ";
  attr.getValue().print(out, /*elideType=*/isPlain);
  return text;
}

/// " {a = 1, b}"; empty without attributes.
static std::string attributesText(ArrayRef<NamedAttribute> attributes) {
  if (attributes.empty())
    return "";
  return " {" + llvm::join(llvm::map_range(attributes, attributeText), ", ") +
         "}";
}

/// The attributes of an operation that differ from the defaults.
static SmallVector<NamedAttribute> writtenAttributes(Operation *op) {
  Operation *fresh = Operation::create(
      op->getLoc(), op->getName(), op->getResultTypes(), ValueRange(),
      NamedAttrList(), /*properties=*/nullptr, BlockRange(), 0);
  SmallVector<NamedAttribute> written;
  for (NamedAttribute attr : op->getAttrs())
    if (fresh->getAttr(attr.getName()) != attr.getValue())
      written.push_back(attr);
  fresh->destroy();
  return written;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

namespace {

/// Writes a module in short form. The text may still read back as another
/// module.
class ShortFormWriter {
public:
  /// `repeats`: whether calls become repetitions and introduce their
  /// parameters.
  ShortFormWriter(ModuleOp module, bool repeats, WrittenTypes types)
      : module(module), writtenTypes(types) {
    if (repeats)
      calls = RepeatedCalls(module);
  }

  /// Empty if some part of the module has no short form.
  std::string write() {
    module.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (auto function = dyn_cast<func::FuncOp>(op))
        for (Type type : function.getArgumentTypes())
          addExtents(type);
      addRenames(op);
      for (Type type : op->getResultTypes())
        addExtents(type);
    });
    if (hasTwoExtents)
      return "";
    Type f32 = Float32Type::get(module.getContext());
    element = element ? element : f32;
    std::string prefix;
    llvm::raw_string_ostream out(prefix);
    if (element != f32)
      out << element << " ";
    text = llvm::formatv("tpsp.program {0}<{1}> {{\n", prefix, extentsText());
    for (Operation &op : *module.getBody()) {
      auto function = dyn_cast<func::FuncOp>(op);
      if (function ? !writeFunction(function) : !isa<MeshOp>(op))
        return "";
      if (isa<MeshOp>(op))
        writeMesh(&op);
    }
    return text + "}\n";
  }

private:
  void addExtents(Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !getIdx(type))
      return;
    if (!element && isa<FloatType>(tensor.getElementType()))
      element = tensor.getElementType();
    for (auto [name, extent] :
         llvm::zip_equal(indexNames(type), tensor.getShape()))
      hasTwoExtents |=
          extents.try_emplace(name, extent).first->second != extent;
  }

  /// If a new index name first occurs as a renaming of another, declares its
  /// extent as that index's.
  void addRenames(Operation *op) {
    if (!isa<RenameOp>(op))
      return;
    for (auto [from, to] :
         llvm::zip_equal(indexNames(op->getOperand(0).getType()),
                         indexNames(op->getResult(0).getType())))
      if (from != to && extents.contains(from) && !extents.contains(to))
        sameAs[to] = from;
  }

  std::string extentsText() const {
    SmallVector<std::string> parts;
    for (auto [name, extent] : extents) {
      auto same = sameAs.find(name);
      parts.push_back((name + " = " +
                       (same == sameAs.end() ? llvm::Twine(extent).str()
                                             : same->second.str()))
                          .str());
    }
    return llvm::join(parts, ", ");
  }

  std::string typeText(Type type) {
    std::string prefix;
    Type own = cast<RankedTensorType>(type).getElementType();
    if (own != element) {
      llvm::raw_string_ostream out(prefix);
      own.print(out);
    }
    return prefix + "[" + subscripts(type) + "]";
  }

  /// Writes the mesh as it is printed, without the dialect's prefix.
  void writeMesh(Operation *mesh) {
    std::string printed;
    llvm::raw_string_ostream(printed) << *mesh;
    text +=
        StringRef(printed).drop_front(StringRef("tpsp.").size()).str() + "\n";
  }

  bool writeFunction(func::FuncOp function) {
    auto isTensor = [](Type type) { return bool(getIdx(type)); };
    if (function.isExternal() || !function.getBody().hasOneBlock() ||
        !llvm::all_of(function.getArgumentTypes(), isTensor) ||
        !llvm::all_of(function.getResultTypes(), isTensor))
      return false;
    names.clear();
    taken.clear();
    text += llvm::formatv("\nfunc {0}@{1}(\n    ",
                          function.isPrivate() ? "private " : "",
                          function.getSymName());
    if (!writeArguments(function))
      return false;
    text += ")";
    writeResults(function);
    text += " {\n";
    for (Operation &op : function.getBody().front())
      if (!writeOperation(&op))
        return false;
    text += "}\n";
    return true;
  }

  /// Writes the arguments except those that calls introduce. Fails if the
  /// reader would give an argument a name that it does not have.
  bool writeArguments(func::FuncOp function) {
    ArrayRef<std::string> left = calls.parametersOf(function);
    size_t given = function.getNumArguments() - left.size();
    SmallVector<std::string> parts;
    for (BlockArgument argument : function.getArguments()) {
      if (calls.isBrought(argument))
        continue;
      unsigned number = argument.getArgNumber();
      NamedAttrList attributes(function.getArgAttrDict(number));
      auto param = dyn_cast_or_null<StringAttr>(attributes.get(paramAttrName));
      auto name = dyn_cast_or_null<StringAttr>(attributes.get(nameAttrName));
      if (!function.isPrivate() && !param == !name)
        return false;
      std::string called = number >= given ? left[number - given]
                           : param         ? param.str()
                                           : "";
      std::string ssa =
          define(argument, name ? name.getValue() : wishFor(argument));
      std::string part = called.empty() ? "%" + ssa : "param %" + ssa;
      if (!called.empty() && called != ssa)
        part += " \"" + called + "\"";
      attributes.erase(paramAttrName);
      if (name && name.getValue() == ssa)
        attributes.erase(nameAttrName);
      parts.push_back(part + ": " + typeText(argument.getType()) +
                      attributesText(attributes.getAttrs()));
    }
    text += llvm::join(parts, ",\n    ");
    return true;
  }

  void writeResults(func::FuncOp function) {
    SmallVector<std::string> parts;
    for (auto [i, type] : llvm::enumerate(function.getResultTypes())) {
      auto attributes = function.getResultAttrDict(i);
      parts.push_back(typeText(type) +
                      attributesText(attributes ? attributes.getValue()
                                                : ArrayRef<NamedAttribute>()));
    }
    std::string all = llvm::join(parts, ", ");
    if (parts.size() == 1 && parts.front().back() == ']')
      text += " -> " + all;
    else if (!parts.empty())
      text += " -> (" + all + ")";
  }

  bool writeOperation(Operation *op) {
    if (calls.isWithin(op))
      return true;
    if (auto call = dyn_cast<func::CallOp>(op)) {
      writeCall(call);
      return true;
    }
    if (isa<func::ReturnOp>(op)) {
      text += "  return " + operandsText(op->getOperands()) + "\n";
      return true;
    }
    auto indexed = dyn_cast<IndexedOpInterface>(op);
    if (!indexed || isa<CollectiveOpInterface>(op))
      return false;
    std::string operands = operandsText(op->getOperands());
    SmallVector<std::string> results, types;
    for (Value result : op->getResults()) {
      results.push_back("%" + define(result, wishFor(result)));
      types.push_back(typeText(result.getType()));
    }
    text += "  " + llvm::join(results, ", ") + " = " +
            op->getName().stripDialect().str() + (operands.empty() ? "" : " ") +
            operands + attributesText(writtenAttributes(op));
    if (writtenTypes == WrittenTypes::Every || !isInferred(indexed))
      text += " -> " + llvm::join(types, ", ");
    text += "\n";
    return true;
  }

  void writeCall(func::CallOp call) {
    const RepeatedCall *run = calls.beginningWith(call);
    func::CallOp last = run ? run->last : call;
    SmallVector<std::string> results;
    for (Value result : last.getResults())
      results.push_back("%" + define(result, wishFor(result)));
    ValueRange operands = call.getOperands();
    std::string how = "call ", as;
    if (run) {
      operands = operands.take_front(run->given);
      as = parameterName(run->names, run->first, "*");
      if (run->times > 1) {
        how = llvm::formatv("repeat {0} ", run->times);
        as = run->names;
      }
      as = " as \"" + as + "\"";
      if (run->times > 1 && run->first > 0)
        as += " from " + std::to_string(run->first);
    }
    text += "  " + llvm::join(results, ", ") + (results.empty() ? "" : " = ") +
            how + "@" + call.getCallee().str() + "(" + operandsText(operands) +
            ")" + as + "\n";
  }

  std::string operandsText(ValueRange operands) {
    return llvm::join(llvm::map_range(operands,
                                      [&](Value operand) {
                                        return "%" + names.lookup(operand);
                                      }),
                      ", ");
  }

  /// Whether the reader infers the result's type by itself.
  bool isInferred(IndexedOpInterface op) {
    if (op->getNumResults() != 1)
      return false;
    auto type = typeOf(op->getResult(0));
    std::optional<SmallVector<StringRef>> inferred = op.inferIndices();
    if (!inferred || *inferred != indexNames(type))
      return false;
    bool isInteger = op.getIntegerWidth(op->getNumOperands()) > 0;
    for (Type operand : op->getOperandTypes()) {
      Type own = getElementTypeOrSelf(operand);
      if (!isInteger && isa<FloatType>(own) && own != type.getElementType())
        return false;
    }
    return isUnplaced(type) ||
           llvm::any_of(op->getResult(0).getUsers(), [](Operation *user) {
             return isa<func::CallOp, func::ReturnOp>(user);
           });
  }

  /// Names the value "%y" as its location says, changed to be unique in the
  /// function.
  std::string define(Value value, StringRef wish) {
    std::string name;
    for (char c : wish)
      name += llvm::isAlnum(c) || c == '_' ? c : '_';
    if (name.empty() || llvm::isDigit(name.front()))
      name.insert(0, "v");
    while (taken[name]++)
      name += "_" + std::to_string(taken[name] - 1);
    return names[value] = name;
  }

  StringRef wishFor(Value value) {
    auto named = value.getLoc()->findInstanceOf<NameLoc>();
    return named ? named.getName().getValue() : "v";
  }

  ModuleOp module;
  const WrittenTypes writtenTypes;
  RepeatedCalls calls;
  llvm::MapVector<StringRef, int64_t> extents;
  llvm::StringMap<StringRef> sameAs;
  bool hasTwoExtents = false;
  /// The default element type: that of the first floating-point tensor.
  Type element;
  std::string text;
  llvm::DenseMap<Value, std::string> names;
  llvm::StringMap<unsigned> taken;
};

} // namespace

/// Whether the text reads back as this module. The text cannot say that the
/// module will be padded.
static bool isReadAs(StringRef text, ModuleOp module) {
  MLIRContext *context = module.getContext();
  ScopedDiagnosticHandler quiet(context, [](Diagnostic &) {});
  bool isPadded = isPaddingOpen(module);
  auto read = parseSourceString<ModuleOp>(
      text, ParserConfig(context, /*verifyAfterParse=*/!isPadded));
  if (read && isPadded)
    leavePaddingOpen(*read);
  return read && OperationEquivalence::isEquivalentTo(
                     module, *read, OperationEquivalence::IgnoreLocations);
}

std::optional<std::string> tpsp::shortForm(ModuleOp module,
                                           WrittenTypes types) {
  // Parameters that calls introduce are a function's last arguments. If they
  // are not last, calls are written out.
  for (bool repeats : {true, false}) {
    std::string text = ShortFormWriter(module, repeats, types).write();
    if (!text.empty() && isReadAs(text, module))
      return text;
  }
  return std::nullopt;
}
