// Parsing, printing and verifying tpsp.mesh.
#include "tpsp/Dialect/Tpsp/IR/MeshOp.h"
#include "tpsp/Dialect/Tpsp/IR/StageAxis.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tpsp;

static std::optional<AxisRole> parseRole(StringRef name) {
  return findNamed<AxisRole>(std::string_view(name));
}

Mesh MeshOp::getMesh() {
  std::vector<MeshAxis> axes;
  for (auto [name, size, role] :
       llvm::zip_equal(getAxisNames().getAsRange<StringAttr>(), getAxisSizes(),
                       getAxisRoles().getAsRange<StringAttr>()))
    axes.push_back({name.getValue().str(), size,
                    parseRole(role.getValue()).value_or(AxisRole::None)});
  return Mesh(std::move(axes));
}

std::optional<AxisId> tpsp::stageAxisOf(Operation *op) {
  MeshOp mesh = findMesh(op);
  if (!mesh)
    return std::nullopt;
  for (auto [id, role] :
       llvm::enumerate(mesh.getAxisRoles().getAsRange<StringAttr>()))
    if (parseRole(role.getValue()) == AxisRole::Stage)
      return AxisId(id);
  return std::nullopt;
}

ParseResult MeshOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr symbol;
  if (parser.parseSymbolName(symbol, SymbolTable::getSymbolAttrName(),
                             result.attributes))
    return failure();
  SmallVector<Attribute> names, roles;
  SmallVector<int64_t> sizes;
  Builder &builder = parser.getBuilder();
  auto parseAxis = [&]() -> ParseResult {
    StringRef name, role;
    int64_t size = 0;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseOptionalKeyword(&name))
      return parser.emitError(loc,
                              "expected an axis name, as in <tp = 4 : model>");
    if (parser.parseEqual() || parser.parseInteger(size))
      return failure();
    if (succeeded(parser.parseOptionalColon()) && parser.parseKeyword(&role))
      return failure();
    names.push_back(builder.getStringAttr(name));
    roles.push_back(builder.getStringAttr(role));
    sizes.push_back(size);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     parseAxis) ||
      parser.parseOptionalAttrDict(result.attributes))
    return failure();
  OperationName name = result.name;
  result.addAttribute(getAxisNamesAttrName(name), builder.getArrayAttr(names));
  result.addAttribute(getAxisSizesAttrName(name),
                      builder.getDenseI64ArrayAttr(sizes));
  result.addAttribute(getAxisRolesAttrName(name), builder.getArrayAttr(roles));
  return success();
}

void MeshOp::print(OpAsmPrinter &printer) {
  printer << " ";
  printer.printSymbolName(getSymName());
  printer << " <";
  llvm::ListSeparator separator;
  for (auto [name, size, role] :
       llvm::zip_equal(getAxisNames().getAsRange<StringAttr>(), getAxisSizes(),
                       getAxisRoles().getAsRange<StringAttr>())) {
    printer << StringRef(separator) << name.getValue() << " = " << size;
    if (!role.getValue().empty())
      printer << " : " << role.getValue();
  }
  printer << ">";
  printer.printOptionalAttrDict((*this)->getAttrs(),
                                {SymbolTable::getSymbolAttrName(),
                                 getAxisNamesAttrName(), getAxisSizesAttrName(),
                                 getAxisRolesAttrName()});
}

LogicalResult MeshOp::verify() {
  llvm::StringSet<> seen;
  StringRef stage;
  if (getAxisNames().size() != getAxisSizes().size() ||
      getAxisNames().size() != getAxisRoles().size())
    return emitOpError("needs one size and one role for each axis");
  // The placement of every operation enumerates assignments of all axes.
  constexpr size_t mostAxes = 8;
  if (getAxisNames().size() > mostAxes) // (M6)
    return emitOpError("has ")
           << getAxisNames().size() << " axes; a mesh has at most " << mostAxes
           << ", so write axes that always stand together as one";
  for (auto [nameAttr, size, roleAttr] :
       llvm::zip_equal(getAxisNames().getAsRange<StringAttr>(), getAxisSizes(),
                       getAxisRoles().getAsRange<StringAttr>())) {
    StringRef name = nameAttr.getValue();
    if (!seen.insert(name).second) // (M1)
      return emitOpError("axis @") << name << " is declared twice";
    if (size < 1) // (M2)
      return emitOpError("axis @")
             << name << " has size " << size << "; sizes are at least 1";
    if (!parseRole(roleAttr.getValue()))
      return emitOpError("axis @")
             << name << " has role '" << roleAttr.getValue()
             << "'; roles are 'data', 'model' and 'stage'";
    if (parseRole(roleAttr.getValue()) != AxisRole::Stage)
      continue;
    if (!stage.empty()) // (M4)
      return emitOpError("axis @")
             << name << " has the role 'stage', which @" << stage
             << " has; layers are divided once, so give one axis that role";
    stage = name;
  }
  if (MeshOp first = findMesh(getOperation());
      first && first != *this) { // (M3)
    InFlightDiagnostic diag =
        emitOpError("is the module's second mesh; a module has one");
    diag.attachNote(first.getLoc()) << "the first mesh is here";
    return diag;
  }
  return success();
}

#define GET_OP_CLASSES
#include "tpsp/Dialect/Tpsp/IR/MeshOp.cpp.inc"
