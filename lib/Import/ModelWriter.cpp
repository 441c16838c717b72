#include "ModelWriter.h"
#include "tpsp/Abi/InvalidStatus.h"

#include "LayerWriter.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>

using namespace tpsp;
using namespace tpsp::import;
using rt::invalid;
using rt::Status;

/// The most blocks of learned positions that are concatenated.
static constexpr int64_t mostBlocks = 64;

namespace {

/// A kind of layer as a function, with the types of its parameters.
struct WrittenLayer {
  std::unique_ptr<FunctionText> function;
  std::vector<Type> parameters;
};

class ModelWriter {
public:
  ModelWriter(const Model &model, const ImportOptions &options,
              Strategy strategy)
      : model(model), options(options),
        program(std::move(strategy), options.dtype) {
    for (const auto &[index, size] : model.extents)
      program.extent(index, size);
    program.sameExtent("t", "s");
  }

  Status write(Imported &out) {
    writeLayers();
    main = std::make_unique<FunctionText>(program, "model", "");
    outer = std::make_unique<LayerWriter>(*main, options.dtype, model.dropout,
                                          seed);
    Type ids{{"b", "s"}, "i32", Where::Tokens};
    Value tokens = main->argument("tokens", ids, "{tpsp.data = \"tokens\"}");
    Value targets;
    if (hasLoss())
      targets = main->argument("targets", ids, "{tpsp.data = \"next_tokens\"}");
    Value embedding =
        outer->parameter("embedding", model.embedding, {"v", "d"});
    Value x = embedded(tokens, embedding);
    x = calledLayers(x);
    x = logits(x, embedding);
    if (hasLoss())
      x = loss(x, targets);
    main->finish({x});
    out.parameters = countParameters();
    out.program = program.text(heading());
    return program.check();
  }

private:
  Type activation() const {
    return {{"b", "s", "d"}, options.dtype, Where::Activation};
  }
  bool hasLoss() const { return options.head == Head::Loss; }
  /// Whether a layer contributes to the loss of balance.
  bool isBalanced(const LayerKind &kind) const {
    auto hasExperts = [](const Block &block) {
      return std::holds_alternative<Experts>(block.part);
    };
    return hasLoss() && model.balanceFactor != 0 &&
           std::any_of(kind.blocks.begin(), kind.blocks.end(), hasExperts);
  }

  void writeLayers() {
    for (size_t i = 0; i < model.kinds.size(); ++i) {
      WrittenLayer &layer = layers.emplace_back();
      const LayerKind &kind = model.kinds[i];
      if (std::count(model.layers.begin(), model.layers.end(), i) == 0)
        continue;
      layer.function =
          std::make_unique<FunctionText>(program, kind.function, "private ");
      LayerWriter writer(*layer.function, options.dtype, model.dropout, seed);
      Value x = layer.function->argument("x", activation());
      if (isBalanced(kind))
        writer.use = {
            layer.function->argument("chosen_before", ExpertUse::type()),
            layer.function->argument("likely_before", ExpertUse::type())};
      for (const Block &block : kind.blocks)
        x = writer.write(block, x, &block == &kind.blocks.back());
      std::vector<Value> results = {x};
      if (writer.use)
        results.insert(results.end(), {writer.use->chosen, writer.use->likely});
      layer.function->finish(results);
      layer.parameters = writer.parameters();
    }
  }

  Value embedded(const Value &tokens, const Value &table) {
    Value x = main->apply("embedding", {tokens, table}, "x", activation(),
                          "vocabulary = \"v\"");
    if (model.embeddingScale != 1)
      x = main->apply("scale", {x}, "x", x.type,
                      fmt::format("factor = {}", model.embeddingScale));
    if (!model.positions.empty())
      x = main->apply("add", {x, learnedPositions()}, "x", x.type);
    return outer->dropped(x, model.dropout.embedding, "x");
  }

  /// The first s of p learned positions, [s, d].
  Value learnedPositions() {
    Value table = outer->parameter("positions", model.positions, {"p", "d"});
    Type wanted{{"s", "d"}, options.dtype};
    int64_t positions = program.extent("p"), length = program.extent("s");
    if (positions == length)
      return main->apply("rename", {table}, "position", wanted);
    int64_t block = std::gcd(positions, length);
    program.extent("pb", positions / block);
    program.extent("pi", block);
    program.extent("sb", length / block);
    Type inner{{"pi", "d"}, options.dtype};
    Value blocks = main->apply("split", {table}, "position_blocks",
                               {{"pb", "pi", "d"}, options.dtype});
    std::vector<Value> taken;
    for (int64_t at = 0; at < length / block; ++at)
      taken.push_back(main->apply("take", {blocks}, "position_block", inner,
                                  fmt::format("index = \"pb\", at = {}", at)));
    if (taken.size() == 1)
      return main->apply("rename", taken, "position", wanted);
    Value stacked =
        main->apply("stack", taken, "first_blocks",
                    {{"sb", "pi", "d"}, options.dtype}, "index = \"sb\"");
    return main->apply("merge", {stacked}, "position", wanted);
  }

  /// Calls the layers. Consecutive layers of one kind become a repeated call.
  Value calledLayers(Value x) {
    const std::vector<size_t> &kinds = model.layers;
    for (size_t first = 0, next = 0; first < kinds.size(); first = next) {
      while (next < kinds.size() && kinds[next] == kinds[first])
        ++next;
      std::vector<Value> carried = {x};
      std::vector<std::string> names = {"x"};
      if (isBalanced(model.kinds[kinds[first]])) {
        if (!use) {
          Value none = main->apply("constant", {}, "zeros", ExpertUse::type(),
                                   "value = 0");
          use = {none, none};
        }
        carried.insert(carried.end(), {use->chosen, use->likely});
        names.insert(names.end(), {"chosen", "likely"});
      }
      carried = main->repeat(*layers[kinds[first]].function, carried, names,
                             model.layerPrefix, int64_t(first),
                             int64_t(next - first));
      x = carried.front();
      if (carried.size() > 1)
        use = {carried[1], carried[2]};
    }
    return x;
  }

  /// Adds the loss of balance to the loss. It is x times a sum over experts of
  /// chosen · likely. `chosen` is the number of a token's j choices that fall
  /// to the expert, and `likely` is the expert's probability. Both are means
  /// over all tokens and layers.
  Value balanced(const Value &loss) {
    int64_t count = std::count_if(
        model.layers.begin(), model.layers.end(),
        [&](size_t kind) { return isBalanced(model.kinds[kind]); });
    main->comment("Balance of experts.");
    Value chosen = main->apply("reduce", {use->chosen}, "chosen_of_all",
                               {{"x"}, "f32"}, "kind = \"sum\"");
    Value choices = main->apply("reduce", {chosen}, "choices", {{}, "f32"},
                                "kind = \"sum\"");
    Value share = main->apply("div", {chosen, choices}, "share", chosen.type);
    Value likely =
        main->apply("mean", {use->likely}, "likely_of_all", {{"x"}, "f32"});
    Value sum =
        main->apply("einsum", {share, likely}, "unscaled_balance", {{}, "f32"});
    double factor = double(model.extent("x") * model.extent("j")) /
                    double(count) * model.balanceFactor;
    Value balance = main->apply("scale", {sum}, "balance", sum.type,
                                fmt::format("factor = {}", factor));
    return main->apply("add", {loss, balance}, "loss", loss.type);
  }

  Value logits(const Value &x, const Value &embedding) {
    Value normed = outer->norm(model.finalNorm, x, {"d"}, "normed");
    Value table = model.head.empty()
                      ? embedding
                      : outer->parameter("head", model.head, {"v", "d"});
    Type type{{"b", "s", "v"}, options.dtype};
    if (!hasLoss())
      type.where = Where::Logits;
    bool isCapped = model.logitsSoftCap != 0;
    Value logits = main->apply("einsum", {table, normed},
                               isCapped ? "uncapped" : "logits", type);
    return isCapped ? outer->softCap(logits, model.logitsSoftCap, "logits")
                    : logits;
  }

  Value loss(const Value &logits, const Value &targets) {
    Value x = logits;
    // Sums of many exponentials are computed in f32.
    if (options.dtype != "f32")
      x = main->apply("convert", {x}, "logits_f32", {x.type.indices, "f32"});
    Value each = main->apply("cross_entropy", {x, targets}, "each",
                             {{"b", "s"}, "f32"}, "over = \"v\"");
    // It divides by the number of labels that count.
    Value mean = main->apply("mean", {each, targets},
                             use ? "cross_entropy" : "loss", {{}, "f32"});
    return use ? balanced(mean) : mean;
  }

  int64_t countParameters() const {
    int64_t count = 0;
    bool isTooMany = false;
    auto add = [&](const std::vector<Type> &types) {
      for (const Type &type : types)
        isTooMany |= __builtin_add_overflow(
            count, program.elements(type.indices), &count);
    };
    add(outer->parameters());
    for (size_t kind : model.layers)
      add(layers[kind].parameters);
    return isTooMany ? std::numeric_limits<int64_t>::max() : count;
  }

  std::string heading() const {
    auto size = [&](const char *index) { return model.extent(index); };
    std::string text = fmt::format(
        "// {} of {} layers, width d {}, {} heads of k {}", model.architecture,
        model.layers.size(), size("d"), size("g") * size("r"), size("k"));
    if (size("r") > 1)
      text += fmt::format(" in g {} groups of r {}", size("g"), size("r"));
    if (model.extents.count("x") > 0)
      text += fmt::format(",\n// x {} experts of f {}, j {} a token", size("x"),
                          size("f"), size("j"));
    text += fmt::format(",\n// vocabulary v {}; batch b {}, sequence s {}. {} "
                        "parameters.\n",
                        size("v"), options.batch, options.sequence,
                        countParameters());
    for (const std::string &note : model.notes)
      text += "// " + note + "\n";
    return text +
           "//\n// tpsp-import made this of a config.json; it is yours to "
           "edit. Parameters are\n// those of the checkpoint: tpsp-run "
           "--weights FOLDER reads them.\n";
  }

  const Model &model;
  const ImportOptions &options;
  ProgramText program;
  std::vector<WrittenLayer> layers;
  std::unique_ptr<FunctionText> main;
  std::unique_ptr<LayerWriter> outer;
  /// The seed of the last dropout that was written.
  int64_t seed = 0;
  /// The use of experts by all layers called so far.
  std::optional<ExpertUse> use;
};

} // namespace

//===----------------------------------------------------------------------===//
// Extents
//===----------------------------------------------------------------------===//

/// Puts experts into blocks. A block has rows for all tokens of a sample that
/// may choose its experts.
static Status addBlocks(Model &model, const ImportOptions &options,
                        int64_t ranks) {
  int64_t experts = model.extent("x");
  int64_t blocks = options.expertBlocks > 0 ? options.expertBlocks : ranks;
  if (experts % ranks != 0) {
    int64_t fewer = ranks;
    while (experts % fewer != 0)
      --fewer;
    return invalid("@ep has {} ranks, which do not divide the {} "
                   "experts; --mesh ep={} does",
                   ranks, experts, fewer);
  }
  if (experts % blocks != 0 || blocks % ranks != 0)
    return invalid("{} blocks of experts: they must divide the {} "
                   "experts, and @ep's {} ranks must divide them; "
                   "--expert-blocks {} does",
                   blocks, experts, ranks, experts);
  int64_t each = experts / blocks;
  model.extents["xb"] = blocks;
  model.extents["xi"] = each;
  model.extents["c"] = options.sequence * std::min(model.extent("j"), each);
  return {};
}

/// Slots of an expert for a sample's tokens.
static int64_t slots(const Model &model, const ImportOptions &options) {
  double average = double(options.sequence) * double(model.extent("j")) /
                   double(model.extent("x"));
  double wanted = std::ceil(average * *options.capacityFactor);
  return int64_t(std::clamp(wanted, 1.0, double(options.sequence)));
}

static Status checkLength(const Model &model, const ImportOptions &options) {
  if (model.positions.empty())
    return {};
  int64_t positions = model.extent("p"), length = options.sequence;
  if (length > positions)
    return invalid("--sequence {} is more than the {} positions "
                   "that the model has learned",
                   length, positions);
  int64_t blocks = length / std::gcd(positions, length);
  if (blocks > mostBlocks)
    return invalid(
        "--sequence {} would take {} blocks of the model's {} positions; one "
        "that shares a larger divisor with {} takes fewer",
        length, blocks, positions, positions);
  return {};
}

Status tpsp::import::writeModel(Model model, const ImportOptions &options,
                                Imported &out) {
  Strategy strategy;
  TPSP_TRY(Strategy::parse(options.strategy, options.mesh, strategy));
  TPSP_TRY(strategy.spreadHeads(model.extent("g"), model.extent("r")));
  TPSP_TRY(checkLength(model, options));
  if (options.layers > int64_t(model.layers.size()))
    return invalid("--layers {} is more than the model's {}", options.layers,
                   model.layers.size());
  if (options.layers > 0)
    model.layers.resize(options.layers);
  model.extents["b"] = options.batch;
  model.extents["s"] = model.extents["t"] = options.sequence;
  if (model.extents.count("x") > 0 && options.capacityFactor)
    model.extents["c"] = slots(model, options);
  else if (model.extents.count("x") > 0)
    TPSP_TRY(addBlocks(model, options, strategy.expertRanks()));
  return ModelWriter(model, options, strategy).write(out);
}
