// Parsing, printing and verifying #tpsp.idx.
#include "WrittenType.h"

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tpsp;

IdxAttr IdxAttr::get(MLIRContext *context, ArrayRef<StringAttr> names) {
  SmallVector<ArrayAttr> axes(names.size(), ArrayAttr::get(context, {}));
  return IdxAttr::get(context, names, axes, /*pending=*/{},
                      /*pendingMax=*/false, /*unplaced=*/false,
                      /*local=*/false);
}

IdxAttr IdxAttr::withoutPlacement() const {
  SmallVector<ArrayAttr> axes(getRank(), ArrayAttr::get(getContext(), {}));
  return IdxAttr::get(getContext(), getNames(), axes, /*pending=*/{},
                      /*pendingMax=*/false, /*unplaced=*/true, getLocal());
}

std::optional<unsigned> IdxAttr::dimOf(StringRef name) const {
  for (auto [dim, candidate] : llvm::enumerate(getNames()))
    if (candidate.getValue() == name)
      return dim;
  return std::nullopt;
}

/// Parses `@axis` as many times as it occurs.
static ParseResult parseAxes(AsmParser &parser,
                             SmallVectorImpl<StringAttr> &axes) {
  StringAttr axis;
  while (succeeded(parser.parseOptionalSymbolName(axis)))
    axes.push_back(axis);
  return success();
}

namespace {
/// The parts of an #tpsp.idx while it is parsed.
struct IdxParts {
  SmallVector<StringAttr> names;
  SmallVector<ArrayAttr> axes;
  SmallVector<StringAttr> pending;
  bool pendingMax = false, unplaced = false, local = false;
};
} // namespace

/// `name`, `name@axis...`, `?` or `local`.
static ParseResult parseEntry(AsmParser &parser, IdxParts &parts) {
  if (succeeded(parser.parseOptionalQuestion())) {
    parts.unplaced = true;
    return success();
  }
  StringRef name;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOptionalKeyword(&name))
    return parser.emitError(loc, "expected an index name, as in <b, s@tp, d>");
  if (name == "local") {
    parts.local = true;
    return success();
  }
  SmallVector<StringAttr> axes;
  if (parseAxes(parser, axes))
    return failure();
  parts.names.push_back(parser.getBuilder().getStringAttr(name));
  SmallVector<Attribute> list(axes.begin(), axes.end());
  parts.axes.push_back(parser.getBuilder().getArrayAttr(list));
  return success();
}

/// `| sum@axis...` or `| max@axis...`.
static ParseResult parsePending(AsmParser &parser, IdxParts &parts) {
  StringRef kind;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&kind))
    return failure();
  if (kind != "sum" && kind != "max")
    return parser.emitError(loc, "expected 'sum' or 'max' after '|', not '")
           << kind << "'";
  parts.pendingMax = kind == "max";
  if (parseAxes(parser, parts.pending))
    return failure();
  if (parts.pending.empty())
    return parser.emitError(loc, "'| ")
           << kind << "' names no axis; write '| " << kind << "@axis'";
  return success();
}

/// Parses entries, pending axes, and the closing bracket.
static ParseResult
parseParts(AsmParser &parser, IdxParts &parts,
           llvm::function_ref<ParseResult()> parseOptionalClose,
           llvm::function_ref<ParseResult()> parseClose) {
  if (succeeded(parser.parseOptionalVerticalBar()))
    return failure(parsePending(parser, parts) || parseClose());
  if (succeeded(parseOptionalClose()))
    return success();
  do {
    if (parseEntry(parser, parts))
      return failure();
  } while (succeeded(parser.parseOptionalComma()));
  if (succeeded(parser.parseOptionalVerticalBar()) &&
      parsePending(parser, parts))
    return failure();
  return parseClose();
}

/// Null, with an error, if the parts contradict each other.
static IdxAttr makeIdx(AsmParser &parser, SMLoc loc, const IdxParts &parts) {
  if (failed(IdxAttr::verify([&] { return parser.emitError(loc); }, parts.names,
                             parts.axes, parts.pending, parts.pendingMax,
                             parts.unplaced, parts.local)))
    return {};
  return IdxAttr::get(parser.getContext(), parts.names, parts.axes,
                      parts.pending, parts.pendingMax, parts.unplaced,
                      parts.local);
}

Attribute IdxAttr::parse(AsmParser &parser, Type) {
  IdxParts parts;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() ||
      parseParts(
          parser, parts, [&] { return parser.parseOptionalGreater(); },
          [&] { return parser.parseGreater(); }))
    return {};
  return makeIdx(parser, loc, parts);
}

ParseResult tpsp::parseBracketedSubscripts(AsmParser &parser, IdxAttr &idx) {
  IdxParts parts;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLSquare() ||
      parseParts(
          parser, parts, [&] { return parser.parseOptionalRSquare(); },
          [&] { return parser.parseRSquare(); }))
    return failure();
  idx = makeIdx(parser, loc, parts);
  return success(bool(idx));
}

void IdxAttr::print(AsmPrinter &printer) const {
  printer << "<";
  llvm::ListSeparator separator;
  for (auto [name, axes] : llvm::zip_equal(getNames(), getAxes())) {
    printer << StringRef(separator) << name.getValue();
    for (auto axis : axes.getAsRange<StringAttr>())
      printer << "@" << axis.getValue();
  }
  if (getUnplaced())
    printer << StringRef(separator) << "?";
  if (getLocal())
    printer << StringRef(separator) << "local";
  if (!getPending().empty()) {
    bool first = getRank() == 0 && !getLocal();
    printer << (first ? "| " : " | ") << (getPendingMax() ? "max" : "sum");
    for (StringAttr axis : getPending())
      printer << "@" << axis.getValue();
  }
  printer << ">";
}

LogicalResult IdxAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                              ArrayRef<StringAttr> names,
                              ArrayRef<ArrayAttr> axes,
                              ArrayRef<StringAttr> pending, bool pendingMax,
                              bool unplaced, bool local) {
  llvm::StringSet<> seenNames; // (N2)
  for (StringAttr name : names)
    if (!seenNames.insert(name.getValue()).second)
      return emitError() << "index '" << name.getValue()
                         << "' appears twice on one tensor; give its second "
                            "role another name (tpsp.rename)";
  // (N3) within one index. Across indices it is verified by verifyAxesOnce,
  // which needs the mesh to price the ways out.
  for (auto [name, list] : llvm::zip_equal(names, axes)) {
    llvm::StringSet<> seen;
    for (auto axis : list.getAsRange<StringAttr>())
      if (!seen.insert(axis.getValue()).second)
        return emitError() << "axis @" << axis.getValue() << " is twice on '"
                           << name.getValue() << "'; remove one of the two";
  }
  llvm::StringSet<> seenPending;
  for (StringAttr axis : pending)
    if (!seenPending.insert(axis.getValue()).second)
      return emitError() << "axis @" << axis.getValue()
                         << " is pending twice; remove one of the two";
  bool isPlaced = !pending.empty() || llvm::any_of(axes, [](ArrayAttr list) {
    return !list.empty();
  });
  if (unplaced && isPlaced) // (N4)
    return emitError() << "a tensor marked '?' has no subscripts yet; remove "
                          "the '?' or the subscripts";
  return success();
}

LogicalResult
IdxAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                        function_ref<InFlightDiagnostic()> emitError) const {
  if (shape.size() != getRank()) // (N1)
    return emitError() << "the tensor has " << shape.size()
                       << " dimensions but " << getRank()
                       << " index names; name each dimension once";
  return success();
}
