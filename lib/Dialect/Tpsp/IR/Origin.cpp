#include "tpsp/Dialect/Tpsp/IR/Origin.h"

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

static OriginAttr attrOf(Operation *op) {
  return dyn_cast_or_null<OriginAttr>(op->getDiscardableAttr(originAttrName));
}

OriginAttr tpsp::originAttr(MLIRContext *context, const Origin &origin) {
  return OriginAttr::get(context, origin.phase, origin.isRecomputed,
                         origin.part, origin.chunk, origin.stages,
                         origin.segment);
}

Origin tpsp::originOf(Operation *op) {
  OriginAttr attr = attrOf(op);
  if (!attr)
    return {};
  return {attr.getPhase(), attr.getRecomputed(),   attr.getPart(),
          attr.getChunk(), attr.getStages().vec(), attr.getSegment()};
}

void tpsp::setOrigin(Operation *op, const Origin &origin) {
  MLIRContext *context = op->getContext();
  OriginAttr attr = originAttr(context, origin);
  if (attr == originAttr(context, {}))
    op->removeDiscardableAttr(originAttrName);
  else
    op->setDiscardableAttr(originAttrName, attr);
}

void tpsp::copyOrigin(Operation *from, Operation *to) {
  if (Attribute attr = from->getDiscardableAttr(originAttrName))
    to->setDiscardableAttr(originAttrName, attr);
  else
    to->removeDiscardableAttr(originAttrName);
}

Phase tpsp::phaseOf(Operation *op) {
  OriginAttr attr = attrOf(op);
  return attr ? attr.getPhase() : Phase::Forward;
}

bool tpsp::isBackward(Operation *op) { return phaseOf(op) == Phase::Backward; }

bool tpsp::isUpdate(Operation *op) { return phaseOf(op) == Phase::Update; }

bool tpsp::isRecomputed(Operation *op) {
  OriginAttr attr = attrOf(op);
  return attr && attr.getRecomputed();
}

bool tpsp::hasPart(Operation *op) {
  OriginAttr attr = attrOf(op);
  return attr && attr.getPart();
}

Attribute tpsp::placeInStep(Operation *op) {
  Origin origin = originOf(op);
  return originAttr(
      op->getContext(),
      {.part = origin.part, .chunk = origin.chunk, .stages = origin.stages});
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

namespace {

/// Reads the entries of an origin.
class OriginParser {
public:
  explicit OriginParser(AsmParser &parser) : parser(parser) {}

  Attribute parse() {
    auto parseEntry = [&] { return parseOne(); };
    if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                       parseEntry))
      return {};
    return originAttr(parser.getContext(), origin);
  }

private:
  ParseResult parseOne() {
    SMLoc loc = parser.getCurrentLocation();
    StringRef name;
    if (parser.parseKeyword(&name))
      return failure();
    for (Phase phase : {Phase::Backward, Phase::Update})
      if (name == nameOf(phase)) {
        origin.phase = phase;
        return success();
      }
    if (name == "recomputed") {
      origin.isRecomputed = true;
      return success();
    }
    if (name == "part")
      return parseNumber(origin.part);
    if (name == "chunk")
      return parseNumber(origin.chunk);
    if (name == "segment")
      return parseNumber(origin.segment);
    if (name == "stages")
      return parseStages();
    return parser.emitError(loc)
           << "unknown entry '" << name
           << "' of an origin; known are backward, update, recomputed, part, "
              "chunk, stages and segment";
  }

  ParseResult parseNumber(std::optional<int64_t> &number) {
    number.emplace();
    return failure(parser.parseEqual() || parser.parseInteger(*number));
  }

  ParseResult parseStages() {
    auto parseStage = [&] {
      return parser.parseInteger(origin.stages.emplace_back());
    };
    return failure(parser.parseEqual() ||
                   parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                                  parseStage));
  }

  AsmParser &parser;
  Origin origin;
};

} // namespace

Attribute OriginAttr::parse(AsmParser &parser, Type) {
  return OriginParser(parser).parse();
}

void OriginAttr::print(AsmPrinter &printer) const {
  llvm::ListSeparator separator;
  auto entry = [&](StringRef name) -> AsmPrinter & {
    return printer << StringRef(separator) << name;
  };
  auto number = [&](StringRef name, std::optional<int64_t> value) {
    if (value)
      entry(name) << " = " << *value;
  };
  printer << "<";
  if (getPhase() != Phase::Forward)
    entry(nameOf(getPhase()));
  if (getRecomputed())
    entry("recomputed");
  number("part", getPart());
  number("chunk", getChunk());
  if (!getStages().empty()) {
    entry("stages") << " = [";
    llvm::interleaveComma(getStages(), printer);
    printer << "]";
  }
  number("segment", getSegment());
  printer << ">";
}
