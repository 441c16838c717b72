// Compares every operation with its definition, element by element, on small
// odd shapes. This tests that the walker gives the reference the right
// operands, attributes and indices.
#include "TestProgram.h"

#include "tpsp/Dialect/Tpsp/Operations/ScalarFunctions.h"

#include <cmath>

using namespace mlir;
using namespace tpsp;

using reference::Extents;
using reference::Position;
using reference::Tensor;

namespace {

/// The operands of an operation, for its definition.
struct Inputs {
  const Tensors &tensors;

  /// Returns the element of operand `i` at a position, which may name more
  /// indices.
  double operator()(size_t i, const Position &at) const {
    return reference::element(tensors[i], at);
  }
};

using Definition = std::function<double(const Inputs &, Position)>;

/// Returns the sum of `body` over the extent of index `name`.
template <typename F>
double sumOver(const char *name, int64_t extent, Position at, F body) {
  double sum = 0;
  for (at[name] = 0; at[name] < extent; ++at[name])
    sum += body(at);
  return sum;
}

/// Expects that every element of the result equals the definition.
void expectElements(llvm::StringRef mnemonic, llvm::StringRef signature,
                    llvm::StringRef attributes, const Definition &definition,
                    Sign sign = Sign::Any) {
  std::string text = oneOperation(mnemonic, signature, attributes);
  SCOPED_TRACE(text);
  TestProgram program(text);
  std::mt19937 engine(11);
  func::FuncOp f = program.function();
  ASSERT_TRUE(f);
  Tensors inputs = program.random(f.getArgumentTypes(), sign, engine);
  Tensors results = program.evaluate(inputs);
  ASSERT_EQ(results.size(), 1u);
  Tensor want = results.front();
  Extents extents;
  for (size_t i = 0; i < want.indices.size(); ++i)
    extents[want.indices[i]] = want.shape[i];
  reference::forEachPosition(extents, [&](const Position &at) {
    reference::element(want, at) = definition({inputs}, at);
  });
  reference::expectNear(results.front(), want, 1e-13);
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

} // namespace

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

TEST(WalkerOperationsTest, Einsum) {
  expectElements(
      "einsum", "b,i,j; l,j -> l,b,i", "", [](const Inputs &x, Position at) {
        return sumOver("j", 5, at,
                       [&](const Position &p) { return x(0, p) * x(1, p); });
      });
  expectElements("einsum", "i,j -> j", "", [](const Inputs &x, Position at) {
    return sumOver("i", 3, at, [&](const Position &p) { return x(0, p); });
  });
}

TEST(WalkerOperationsTest, Reduce) {
  expectElements("reduce", "i,j -> i", "", [](const Inputs &x, Position at) {
    return sumOver("j", 5, at, [&](const Position &p) { return x(0, p); });
  });
  expectElements("reduce", "i,j -> j", R"({kind = "max"})",
                 [](const Inputs &x, Position at) {
                   double highest = -INFINITY;
                   sumOver("i", 3, at, [&](const Position &p) {
                     return highest = std::max(highest, x(0, p));
                   });
                   return highest;
                 });
}

TEST(WalkerOperationsTest, Arithmetic) {
  expectElements("add", "i,j; j; .; j,i -> i,j", "",
                 [](const Inputs &x, Position at) {
                   return x(0, at) + x(1, at) + x(2, at) + x(3, at);
                 });
  expectElements("sub", "j; i,j -> i,j", "", [](const Inputs &x, Position at) {
    return x(0, at) - x(1, at);
  });
  expectElements("mul", "i; j -> j,i", "", [](const Inputs &x, Position at) {
    return x(0, at) * x(1, at);
  });
  expectElements("div", "j; i,j -> i,j", "", [](const Inputs &x, Position at) {
    return x(0, at) / x(1, at);
  });
  expectElements("broadcast", "j -> i,l,j", "",
                 [](const Inputs &x, Position at) { return x(0, at); });
  expectElements("scale", "j,i -> i,j", "{factor = -0.7}",
                 [](const Inputs &x, Position at) { return -0.7 * x(0, at); });
  expectElements("shift", "i,j -> i,j", "{by = -0.7}",
                 [](const Inputs &x, Position at) { return x(0, at) - 0.7; });
}

TEST(WalkerOperationsTest, Sequences) {
  // y[j] is the sum of x[l] times the decays after l, up to j.
  expectElements("scan", "i,j; j -> i,j", R"({index = "j"})",
                 [](const Inputs &x, const Position &at) {
                   double sum = 0;
                   for (int64_t first = 0; first <= at.at("j"); ++first) {
                     Position p = at;
                     p["j"] = first;
                     double term = x(0, p);
                     while (++p["j"] <= at.at("j"))
                       term *= x(1, p);
                     sum += term;
                   }
                   return sum;
                 });
  expectElements("scan", "j,i; i,j -> j,i", R"({index = "j", reverse})",
                 [](const Inputs &x, const Position &at) {
                   double sum = 0;
                   for (int64_t last = at.at("j"); last < 5; ++last) {
                     Position p = at;
                     p["j"] = last;
                     double term = x(0, p);
                     while (--p["j"] >= at.at("j"))
                       term *= x(1, p);
                     sum += term;
                   }
                   return sum;
                 });
  auto sumBetween = [](const Inputs &x, Position at, int64_t first,
                       int64_t last) {
    double sum = 0;
    for (at["j"] = first; at["j"] <= last; ++at["j"])
      sum += x(0, at);
    return sum;
  };
  expectElements("cumsum", "i,j -> i,j", R"({index = "j"})",
                 [=](const Inputs &x, const Position &at) {
                   return sumBetween(x, at, 0, at.at("j"));
                 });
  expectElements("cumsum", "j,i -> j,i", R"({index = "j", reverse})",
                 [=](const Inputs &x, const Position &at) {
                   return sumBetween(x, at, at.at("j"), 4);
                 });
  for (int by : {0, 1, 3, 5, 9, -1, -4, -5})
    expectElements("delay", "j,i -> j,i",
                   R"({index = "j", by = )" + std::to_string(by) + "}",
                   [=](const Inputs &x, Position at) {
                     at["j"] -= by;
                     return at["j"] < 0 || at["j"] >= 5 ? 0.0 : x(0, at);
                   });
}

namespace {
struct Function {
  const char *name;
  double (*value)(double);
  double (*slope)(double);
};
} // namespace

// The functions of Reference.h by their definitions. Derivatives are central
// differences if the formula would only repeat the reference's.
static double geluTanh(double x) {
  return x / 2 *
         (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * std::pow(x, 3))));
}
static double geluErf(double x) { return x / 2 * (1 + std::erf(x / M_SQRT2)); }

static const Function functions[] = {
    {"neg", [](double x) { return -x; }, [](double) { return -1.0; }},
    {"exp", std::exp, std::exp},
    {"log", std::log, [](double x) { return 1 / x; }},
    {"tanh", std::tanh, [](double x) { return 1 / std::pow(std::cosh(x), 2); }},
    {"sqrt", std::sqrt, [](double x) { return 0.5 / std::sqrt(x); }},
    {"rsqrt", [](double x) { return 1 / std::sqrt(x); },
     [](double x) { return -0.5 * std::pow(x, -1.5); }},
    {"square", [](double x) { return x * x; }, [](double x) { return 2 * x; }},
    {"sigmoid", sigmoid, [](double x) { return sigmoid(x) * sigmoid(-x); }},
    {"relu", [](double x) { return std::max(x, 0.0); },
     [](double x) { return x > 0 ? 1.0 : 0.0; }},
    {"silu", [](double x) { return x * sigmoid(x); }, nullptr},
    {"gelu", geluTanh, nullptr},
    {"gelu_erf", geluErf, nullptr},
};

TEST(WalkerOperationsTest, ScalarFunctions) {
  for (const Function &f : functions) {
    bool positive =
        llvm::is_contained({"log", "sqrt", "rsqrt"}, llvm::StringRef(f.name));
    Sign sign = positive ? Sign::Positive : Sign::Any;
    expectElements(
        f.name, "i,j -> i,j", "",
        [&](const Inputs &x, Position at) { return f.value(x(0, at)); }, sign);
    if (!f.slope)
      continue; // GradientTest compares with differences
    std::string of = "{of = \"" + std::string(f.name) + "\"}";
    expectElements(
        "slope", "i,j -> j,i", of,
        [&](const Inputs &x, Position at) { return f.slope(x(0, at)); }, sign);
  }
}

/// Compares every registered function with the reference's table.
/// ScalarFunctionsTest compares that with formulas.
TEST(WalkerOperationsTest, RegisteredFunctions) {
  for (const ScalarFunction &f : scalarFunctions()) {
    const auto *value = reference::findScalarFunction(f.name.data());
    const auto *slope =
        reference::findScalarFunction(("slope." + f.name).str());
    ASSERT_TRUE(value && slope) << f.name.str();
    Sign sign = f.takesPositive ? Sign::Positive : Sign::Any;
    auto expect = [&](llvm::StringRef mnemonic, llvm::StringRef attributes,
                      const reference::ScalarFunction &function) {
      expectElements(
          mnemonic, "i,j -> j,i", attributes,
          [&](const Inputs &x, Position at) {
            double argument = x(0, at);
            return function.evaluate(&argument, 1);
          },
          sign);
    };
    expect(f.name, "", *value);
    expect("slope", ("{of = \"" + f.name + "\"}").str(), *slope);
  }
}

TEST(WalkerOperationsTest, CausalMask) {
  expectElements("causal_mask", "b,s,t -> s,t,b",
                 R"({query = "s", key = "t", fill = -3.5})",
                 [](const Inputs &x, Position at) {
                   return at["t"] <= at["s"] ? x(0, at) : -3.5;
                 });
}

TEST(WalkerOperationsTest, AddBias) {
  expectElements(
      "add_bias", "b,s,t; t,s -> s,t,b", "",
      [](const Inputs &x, Position at) { return x(0, at) + x(1, at); });
}

TEST(WalkerOperationsTest, EndMask) {
  expectElements("end_mask", "i,j -> j,i",
                 R"({index = "j", end = 2, fill = -3.5})",
                 [](const Inputs &x, Position at) {
                   return at["j"] < 2 ? x(0, at) : -3.5;
                 });
}

TEST(WalkerOperationsTest, RopeMatrix) {
  for (bool inverse : {false, true})
    expectElements(
        "rope_matrix", " -> m=3,o=2,s=5,i=2",
        std::string(R"({position = "s", feature = "m", out = "o", in = "i",
                        theta = 70.0, pairs = 3)") +
            (inverse ? ", inverse}" : "}"),
        [&](const Inputs &, Position at) {
          double angle = at["s"] * std::pow(70.0, -at["m"] / 3.0);
          if (inverse)
            angle = -angle;
          if (at["o"] == at["i"])
            return std::cos(angle);
          return at["o"] == 1 ? std::sin(angle) : -std::sin(angle);
        });
}

//===----------------------------------------------------------------------===//
// Composites
//===----------------------------------------------------------------------===//

TEST(WalkerOperationsTest, Softmax) {
  for (bool causal : {false, true})
    expectElements("softmax", "t,b,s -> t,b,s",
                   causal ? R"({over = "t", scale = 0.7, causal = "s"})"
                          : R"({over = "t", scale = 0.7})",
                   [&](const Inputs &x, Position at) {
                     auto weight = [&](Position p) {
                       return causal && p["t"] > p["s"]
                                  ? 0
                                  : std::exp(0.7 * x(0, p));
                     };
                     return weight(at) / sumOver("t", 5, at, weight);
                   });
  // A sink is one more term of a row's sum, and is not scaled.
  expectElements("softmax", "t,b,s; s -> t,b,s", R"({over = "t", scale = 0.7})",
                 [](const Inputs &x, Position at) {
                   auto weight = [&](const Position &p) {
                     return std::exp(0.7 * x(0, p));
                   };
                   return weight(at) /
                          (std::exp(x(1, at)) + sumOver("t", 5, at, weight));
                 });
}

/// Returns the mean of `body` over indices h (3) and k (4).
template <typename F> static double meanOverRow(const Position &at, F body) {
  return sumOver("h", 3, at,
                 [&](const Position &p) { return sumOver("k", 4, p, body); }) /
         12;
}

TEST(WalkerOperationsTest, Norms) {
  expectElements("rms_norm", "h,b,k; k,h -> h,b,k", "{eps = 0.25}",
                 [](const Inputs &x, Position at) {
                   double square = meanOverRow(at, [&](const Position &p) {
                     return x(0, p) * x(0, p);
                   });
                   return x(0, at) / std::sqrt(square + 0.25) * x(1, at);
                 });
  expectElements(
      "layer_norm", "h,b,k; k,h; k,h -> h,b,k", "{eps = 0.25}",
      [](const Inputs &x, Position at) {
        double mean =
            meanOverRow(at, [&](const Position &p) { return x(0, p); });
        double variance = meanOverRow(
            at, [&](const Position &p) { return std::pow(x(0, p) - mean, 2); });
        return (x(0, at) - mean) / std::sqrt(variance + 0.25) * x(1, at) +
               x(2, at);
      });
}

TEST(WalkerOperationsTest, Rope) {
  for (bool inverse : {false, true})
    expectElements(
        "rope", "k=6,b,s -> k=6,b,s",
        inverse ? R"({position = "s", feature = "k", theta = 70.0, inverse})"
                : R"({position = "s", feature = "k", theta = 70.0})",
        [&](const Inputs &x, Position at) {
          int64_t pair = at["k"] % 3;
          bool upper = at["k"] >= 3;
          double angle = at["s"] * std::pow(70.0, -pair / 3.0);
          double sine = std::sin(inverse ? -angle : angle);
          Position low = at, high = at;
          low["k"] = pair;
          high["k"] = pair + 3;
          return upper ? x(0, high) * std::cos(angle) + x(0, low) * sine
                       : x(0, low) * std::cos(angle) - x(0, high) * sine;
        });
}

TEST(WalkerOperationsTest, Attention) {
  // Queries grouped by r; the value's own feature is called d.
  for (bool causal : {false, true})
    expectElements(
        "attention", "b,s,h,r,k; b,t,h,k; b,t,h,d -> b,s,h,r,d",
        causal
            ? R"({query = "s", key = "t", feature = "k", scale = 0.5, causal})"
            : R"({query = "s", key = "t", feature = "k", scale = 0.5})",
        [&](const Inputs &x, Position at) {
          auto weight = [&](Position p) {
            double score = sumOver("k", 4, p, [&](const Position &q) {
              return x(0, q) * x(1, q);
            });
            return causal && p["t"] > p["s"] ? 0 : std::exp(0.5 * score);
          };
          double total = sumOver("t", 5, at, weight);
          return sumOver("t", 5, at, [&](const Position &p) {
            return weight(p) * x(2, p) / total;
          });
        });
}

TEST(WalkerOperationsTest, AttentionWithASink) {
  for (bool isCapped : {false, true})
    expectElements(
        "attention", "b,s,h,r,k; b,t,h,k; b,t,h,d; r,h -> b,s,h,r,d",
        std::string(R"({query = "s", key = "t", feature = "k", scale = 0.5)") +
            (isCapped ? ", softcap = 0.8}" : "}"),
        [&](const Inputs &x, Position at) {
          auto weight = [&](Position p) {
            double score = 0.5 * sumOver("k", 4, p, [&](const Position &q) {
                             return x(0, q) * x(1, q);
                           });
            return std::exp(isCapped ? 0.8 * std::tanh(score / 0.8) : score);
          };
          double total = std::exp(x(3, at)) + sumOver("t", 5, at, weight);
          return sumOver("t", 5, at, [&](const Position &p) {
            return weight(p) * x(2, p) / total;
          });
        });
}

//===----------------------------------------------------------------------===//
// Views and requests
//===----------------------------------------------------------------------===//

TEST(WalkerOperationsTest, Blocks) {
  for (int64_t at : {0, 2, 4})
    expectElements("take", "i,j,l -> i,l",
                   "{index = \"j\", at = " + std::to_string(at) + "}",
                   [at](const Inputs &x, Position place) {
                     place["j"] = at;
                     return x(0, place);
                   });
  expectElements("stack", "i,l; i,l; i,l -> i,j=3,l", R"({index = "j"})",
                 [](const Inputs &x, Position at) {
                   return x(at["j"], {{"i", at["i"]}, {"l", at["l"]}});
                 });
  expectElements("stack", "l; l -> l,j=2", R"({index = "j"})",
                 [](const Inputs &x, Position at) {
                   return x(at["j"], {{"l", at["l"]}});
                 });
}

TEST(WalkerOperationsTest, Views) {
  expectElements("rename", "i,j -> i,l=5", "",
                 [](const Inputs &x, Position at) {
                   return x(0, {{"i", at["i"]}, {"j", at["l"]}});
                 });
  expectElements("split", "s,e=12 -> s,h=3,k=4", "",
                 [](const Inputs &x, Position at) {
                   return x(0, {{"s", at["s"]}, {"e", 4 * at["h"] + at["k"]}});
                 });
  expectElements(
      "merge", "s,h=3,k=4 -> s,e=12", "", [](const Inputs &x, Position at) {
        return x(0, {{"s", at["s"]}, {"h", at["e"] / 4}, {"k", at["e"] % 4}});
      });
  expectElements("reshard", "i,j -> i,j", "",
                 [](const Inputs &x, Position at) { return x(0, at); });
}
