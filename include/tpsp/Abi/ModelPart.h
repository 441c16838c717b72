/// A part of a model that is compiled, and checked, alone: one layer, or what
/// is left without the layers.
///
///   %x = embedding %ids, %table
///   %h = repeat 2 @layer(%x) as "layers.#.*"
///   %loss = ...
///
/// has three parts. The first layer takes x and returns layer0.y. The second
/// one takes layer0.y and returns layer1.y. The rest takes the model's inputs
/// and layer1.y, and returns x and the loss.
#ifndef TPSP_ABI_MODELPART_H
#define TPSP_ABI_MODELPART_H

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tpsp {

struct ModelPart {
  /// "layer3"; empty for the rest.
  std::string name;
  /// The function of a layer; empty for the rest.
  std::string function;
  /// The model's names of the function's arguments.
  std::map<std::string, std::string> arguments;
  /// The model's names of arguments that other parts read, too. Their gradients
  /// are sums over parts.
  std::set<std::string> shared;

  /// The model's name of a tensor of the part: "layer3.u" for "u",
  /// "g[layers.3.w]" for "g[w]".
  std::string fullName(const std::string &own) const {
    if (function.empty() || own.empty())
      return own;
    size_t end = own.find(']');
    if (own.compare(0, 2, "g[") == 0 && end != std::string::npos)
      return "g[" + fullName(own.substr(2, end - 2)) + own.substr(end);
    auto found = arguments.find(own);
    return found == arguments.end() ? name + "." + own : found->second;
  }
};

struct ModelParts {
  /// Layers, in the order of the program, and then the rest.
  std::vector<ModelPart> parts;
  /// The number of the mesh axis whose ranks have different layers; -1 if there
  /// is none. Its ranks have copies of a part.
  int64_t stageAxis = -1;
};

} // namespace tpsp

#endif // TPSP_ABI_MODELPART_H
