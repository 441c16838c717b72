#include "RandomModel.h"

#include <map>
#include <random>
#include <vector>

namespace {

class Writer {
public:
  explicit Writer(unsigned seed)
      : random(seed), valueFeature(seed % 3 == 2 ? "w" : "k") {}

  std::string write() {
    chooseExtents();
    addStoredExtents();
    std::string body;
    std::string value = "x";
    int blocks = 1 + int(random() % 2);
    for (int i = 0; i < blocks; ++i)
      value =
          random() % 3 == 0 ? attention(value, i, body) : mlp(value, i, body);
    std::string text = "func.func @model(%x: " + tensor("b, s, d");
    for (const auto &[name, type] : parameters)
      text += ", " + argument(name, type);
    return text + ") -> " + tensor("b, s, d") + " {\n" + body + "  return %" +
           value + " : " + tensor("b, s, d") + "\n}\n";
  }

  /// Writes `layers` layers of a block each, then a product.
  std::string writeLayers(int layers, bool isLarge) {
    chooseExtents();
    const std::map<char, int> times = {{'b', 4},   {'s', 64},  {'t', 64},
                                       {'d', 192}, {'e', 192}, {'h', 1},
                                       {'k', 32},  {'w', 32}};
    for (auto &[name, extent] : extents)
      extent *= isLarge ? times.at(name) : 1;
    addStoredExtents();
    std::string body, x = tensor("b, s, d");
    std::string value =
        random() % 2 ? attention("x", 0, body) : mlp("x", 0, body);
    std::string layer = "func.func private @layer(%x: " + x,
                program = "func.func @model(%x0: " + x, calls;
    std::string types = x;
    for (const auto &[name, type] : parameters) {
      layer += ", %" + name + ": " + type;
      types += ", " + type;
    }
    for (int i = 0; i < layers; ++i) {
      std::string n = std::to_string(i);
      calls += "  %x" + std::to_string(i + 1) + " = func.call @layer(%x" + n;
      for (const auto &[name, type] : parameters) {
        program += ", " + argument(name + "_" + n, type);
        calls += ", %" + name + "_" + n;
      }
      calls += ") : (" + types + ") -> " + x + "\n";
    }
    std::string last = "x" + std::to_string(layers);
    calls += einsum("y", "head", "e, d", last, "b, s, d", "b, s, e");
    return layer + ") -> " + x + " {\n" + body + "  return %" + value + " : " +
           x + "\n}\n\n" + program + ", " +
           argument("head", parameters.back().second) + ") -> " +
           tensor("b, s, e") + " {\n" + calls +
           "  return %y : " + tensor("b, s, e") + "\n}\n";
  }

private:
  /// Returns an argument; every other one has a comma in its name.
  std::string argument(const std::string &name, const std::string &type) {
    std::string comma = random() % 2 ? ", a weight" : "";
    return "%" + name + ": " + type + " {tpsp.param = \"" + name + comma +
           "\"}";
  }

  int pick(std::vector<int> from) { return from[random() % from.size()]; }

  void chooseExtents() {
    extents = {{'b', pick({1, 2, 4, 6})},   {'s', pick({4, 7, 8, 16})},
               {'d', pick({5, 8, 12, 16})}, {'e', pick({6, 8, 11, 16})},
               {'h', pick({1, 2, 3, 4})},   {'k', pick({2, 4, 8})}};
    extents.push_back({'t', extents[1].second});
    extents.push_back({'w', 3 * extents[5].second});
  }

  /// Adds indices that only stored parameters have: q and p are heads with
  /// their features, and f is as long as e.
  void addStoredExtents() {
    const std::map<char, int> known(extents.begin(), extents.end());
    extents.push_back({'q', known.at('h') * known.at('k')});
    extents.push_back({'p', known.at('h') * known.at('w')});
    extents.push_back({'f', known.at('e')});
  }

  std::string tensor(const std::string &indices) const {
    std::string shape;
    for (char index : indices)
      for (auto [name, extent] : extents)
        if (name == index)
          shape += std::to_string(extent) + "x";
    return "tensor<" + shape + "f32, #tpsp.idx<" + indices + ", ?>>";
  }

  std::string parameter(const std::string &name, const std::string &indices) {
    parameters.emplace_back(name, tensor(indices));
    return tensor(indices);
  }

  /// Returns the indices with which a weight is stored. Half of all weights are
  /// split or renamed before they are used.
  std::string storedIndices(std::string indices) {
    if (random() % 2)
      return indices;
    const std::pair<std::string, std::string> stored[] = {
        {"h, k", "q"}, {"h, w", "p"}, {"e", "f"}};
    for (const auto &[used, as] : stored)
      if (size_t at = indices.find(used); at != std::string::npos)
        return indices.replace(at, used.size(), as);
    return indices;
  }

  /// Declares a weight. Returns the value with these indices; a view makes it
  /// if the weight is stored with others.
  std::string weightFor(const std::string &weight, const std::string &indices,
                        std::string &body) {
    std::string stored = storedIndices(indices);
    std::string type = parameter(weight, stored);
    if (stored == indices)
      return weight;
    bool isRenamed = stored.size() == indices.size();
    body += "  %" + weight + "_used = tpsp." +
            (isRenamed ? "rename" : "split") + " %" + weight + " : " + type +
            " -> " + tensor(indices) + "\n";
    return weight + "_used";
  }

  std::string einsum(const std::string &result, const std::string &weight,
                     const std::string &weightIndices, const std::string &from,
                     const std::string &indices, const std::string &to) {
    std::string body, used = weightFor(weight, weightIndices, body);
    return body + "  %" + result + " = tpsp.einsum %" + used + ", %" + from +
           " : (" + tensor(weightIndices) + ", " + tensor(indices) + ") -> " +
           tensor(to) + "\n";
  }

  /// Returns the operand of a block, normalised or not.
  std::string norm(const std::string &value, const std::string &n,
                   std::string &body) {
    if (random() % 3 == 0)
      return value;
    std::string gain = parameter("gain" + n, "d"), x = tensor("b, s, d");
    body += "  %n" + n + " = tpsp.rms_norm %" + value + ", %gain" + n + " : (" +
            x + ", " + gain + ") -> " + x + "\n";
    return "n" + n;
  }

  std::string residual(const std::string &value, const std::string &block,
                       const std::string &n, std::string &body) {
    if (random() % 4 == 0)
      return block;
    body += "  %z" + n + " = tpsp.add %" + value + ", %" + block + " : " +
            tensor("b, s, d") + "\n";
    return "z" + n;
  }

  std::string mlp(const std::string &value, int number, std::string &body) {
    std::string n = std::to_string(number), mid = tensor("b, s, e");
    std::string input = norm(value, n, body);
    body += einsum("u" + n, "up" + n, "e, d", input, "b, s, d", "b, s, e");
    const char *kinds[] = {"gelu", "silu", "relu"};
    body += "  %a" + n + " = tpsp." + kinds[random() % 3] + " %u" + n + " : " +
            mid + "\n";
    body += einsum("y" + n, "down" + n, "d, e", "a" + n, "b, s, e", "b, s, d");
    return residual(value, "y" + n, n, body);
  }

  std::string attention(const std::string &value, int number,
                        std::string &body) {
    std::string n = std::to_string(number), v = valueFeature;
    std::string head = tensor("b, s, h, k"), result = tensor("b, s, h, " + v);
    std::string keys = tensor("b, t, h, k"), values = tensor("b, t, h, " + v);
    std::string input = norm(value, n, body);
    for (const char *each : {"q", "k"})
      body += einsum(each + n, "w" + std::string(each) + n, "h, k, d", input,
                     "b, s, d", "b, s, h, k");
    body += einsum("v" + n, "wv" + n, "h, " + v + ", d", input, "b, s, d",
                   "b, s, h, " + v);
    body += "  %kt" + n + " = tpsp.rename %k" + n + " : " + head + " -> " +
            keys + "\n  %vt" + n + " = tpsp.rename %v" + n + " : " + result +
            " -> " + values + "\n";
    body += "  %o" + n + " = tpsp.attention %q" + n + ", %kt" + n + ", %vt" +
            n + " {query = \"s\", key = \"t\", feature = \"k\", scale = 0.5" +
            (random() % 2 ? ", causal" : "") + "} : (" + head + ", " + keys +
            ", " + values + ") -> " + result + "\n";
    body += einsum("y" + n, "wo" + n, "d, h, " + v, "o" + n, "b, s, h, " + v,
                   "b, s, d");
    return residual(value, "y" + n, n, body);
  }

  std::mt19937 random;
  /// The feature of values in attention; that of queries and keys is k.
  std::string valueFeature;
  std::vector<std::pair<char, int>> extents;
  /// Names and types.
  std::vector<std::pair<std::string, std::string>> parameters;
};

} // namespace

std::string tpsp::randomModel(unsigned seed) { return Writer(seed).write(); }

std::string tpsp::randomLayers(unsigned seed, int layers, bool isLarge) {
  return Writer(seed).writeLayers(layers, isLarge);
}
