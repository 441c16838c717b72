#include "Extents.h"
#include "Graph.h"
#include "Refusal.h"
#include "tpsp/Abi/JsonFault.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>

using namespace tpsp;
using namespace tpsp::import;
using namespace tpsp::import::torch;
using Json = nlohmann::json;

/// Bytes of a file of JSON.
static constexpr int64_t mostBytes = int64_t(1) << 30;
/// The schema's major version that this reader knows.
static constexpr int64_t knownSchema = 8;
/// Deeper values than a graph has stop the parser.
static constexpr int deepest = 64;
static constexpr int64_t mostElements = int64_t(1) << 48;

bool torch::isFloating(ScalarType type) {
  return type == ScalarType::F16 || type == ScalarType::BF16 ||
         type == ScalarType::F32 || type == ScalarType::F64;
}

int64_t torch::bytesOf(ScalarType type) {
  switch (type) {
  case ScalarType::F64:
  case ScalarType::I64:
    return 8;
  case ScalarType::F32:
  case ScalarType::I32:
    return 4;
  case ScalarType::F16:
  case ScalarType::BF16:
  case ScalarType::I16:
    return 2;
  default:
    return 1;
  }
}

std::string torch::elementOf(ScalarType type) {
  switch (type) {
  case ScalarType::F64:
    return "f64";
  case ScalarType::F32:
    return "f32";
  case ScalarType::F16:
    return "f16";
  case ScalarType::BF16:
    return "bf16";
  default:
    return "i32";
  }
}

int64_t torch::elementsOf(const Sizes &sizes) {
  int64_t product = 1;
  for (int64_t size : sizes)
    if (size < 0 || __builtin_mul_overflow(product, size, &product) ||
        product > mostElements)
      refuse("a tensor of [{}] has more than 2^48 elements",
             fmt::join(sizes, ", "));
  return product;
}

static Json readJson(const Archive &archive, const std::string &name) {
  std::string text = archive.read(name, mostBytes);
  bool isTooDeep = false;
  auto note = [&](int depth, Json::parse_event_t, Json &) {
    isTooDeep |= depth > deepest;
    return depth <= deepest;
  };
  Json json = Json::parse(text, note, /*allow_exceptions=*/false);
  if (isTooDeep)
    refuse("its file '{}' nests more than {} deep", name, deepest);
  if (json.is_discarded())
    refuse("its file '{}' is not JSON: {}", name, jsonFault(text));
  return json;
}

/// A member of a union, which has one: {"as_int": 3}.
static std::pair<std::string, const Json *> only(const Json &value) {
  if (!value.is_object() || value.empty())
    refuse("a value of its graph is no object: {}",
           value.dump(-1, ' ', true, Json::error_handler_t::replace)
               .substr(0, 60));
  return {value.begin().key(), &value.begin().value()};
}

static Sizes sizesOf(const Json &values, const Extents &extents) {
  Sizes sizes;
  for (const Json &value : values)
    sizes.push_back(extents.of(value));
  return sizes;
}

static TensorMeta metaOf(const Json &value, const Extents &extents) {
  TensorMeta meta;
  // The schema's numbers of complex numbers with parts in f32 and f64.
  constexpr int complexF32 = 10, complexF64 = 11;
  int number = value.at("dtype").get<int>();
  meta.isComplex = number == complexF32 || number == complexF64;
  meta.type = number == complexF32   ? ScalarType::F32
              : number == complexF64 ? ScalarType::F64
                                     : static_cast<ScalarType>(number);
  static constexpr ScalarType known[] = {
      ScalarType::U8,   ScalarType::I8,  ScalarType::I16, ScalarType::I32,
      ScalarType::I64,  ScalarType::F16, ScalarType::F32, ScalarType::F64,
      ScalarType::BF16, ScalarType::Bool};
  if (std::find(std::begin(known), std::end(known), meta.type) ==
      std::end(known))
    refuse("a tensor has elements of type {} of the schema; known are "
           "numbers, complex numbers, integers and booleans",
           number);
  meta.sizes = sizesOf(value.at("sizes"), extents);
  meta.strides = sizesOf(value.at("strides"), extents);
  meta.offset = extents.of(value.at("storage_offset"));
  meta.requiresGrad = value.at("requires_grad").get<bool>();
  if (meta.isComplex) {
    for (int64_t &stride : meta.strides)
      stride *= 2;
    meta.sizes.push_back(2);
    meta.strides.push_back(1);
    meta.offset *= 2;
  }
  elementsOf(meta.sizes);
  if (meta.strides.size() != meta.sizes.size() || meta.offset < 0)
    refuse("a tensor of [{}] has {} strides and begins at {}",
           fmt::join(meta.sizes, ", "), meta.strides.size(), meta.offset);
  return meta;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

static TensorName optionalTensor(const Json &value) {
  if (value.contains("name"))
    return {value.at("name").get<std::string>()};
  auto [kind, inner] = only(value);
  return {kind == "as_tensor" ? inner->at("name").get<std::string>() : ""};
}

static std::vector<TensorName> tensorsOf(const Json &values) {
  std::vector<TensorName> names;
  for (const Json &value : values)
    names.push_back(optionalTensor(value));
  return names;
}

static double numberOf(const Json &value) {
  // Infinities and NaN are strings.
  return value.is_string() ? std::stod(value.get<std::string>())
                           : value.get<double>();
}

static Argument argumentOf(const Json &value, const Extents &extents) {
  auto [kind, inner] = only(value);
  if (kind == "as_tensor" || kind == "as_optional_tensor")
    return optionalTensor(*inner);
  if (kind == "as_tensors" || kind == "as_optional_tensors")
    return tensorsOf(*inner);
  if (kind == "as_int" || kind == "as_scalar_type")
    return inner->get<int64_t>();
  if (kind == "as_bool")
    return inner->get<bool>();
  if (kind == "as_float")
    return numberOf(*inner);
  if (kind == "as_string")
    return inner->get<std::string>();
  if (kind == "as_ints")
    return inner->get<std::vector<int64_t>>();
  if (kind == "as_floats") {
    std::vector<double> numbers;
    for (const Json &one : *inner)
      numbers.push_back(numberOf(one));
    return numbers;
  }
  if (kind == "as_sym_int")
    return extents.of(*inner);
  if (kind == "as_sym_ints")
    return sizesOf(*inner, extents);
  // Devices, layouts and formats of memory change no number.
  static const char *ignored[] = {"as_none", "as_device", "as_layout",
                                  "as_memory_format"};
  if (std::find(std::begin(ignored), std::end(ignored), kind) !=
      std::end(ignored))
    return std::monostate{};
  return "\x01" + kind;
}

/// Adds the names of the tensors that a value of a node is.
static void addTensors(const Json &value, std::vector<std::string> &out) {
  auto [kind, inner] = only(value);
  if (kind == "as_tensor")
    out.push_back(inner->at("name").get<std::string>());
  else if (kind == "as_tensors")
    for (const TensorName &one : tensorsOf(*inner))
      out.push_back(one.name);
  else
    out.emplace_back();
}

/// The paths of "L__self__,,Wrapped;L__self___model,model,LlamaForCausalLM".
static std::vector<std::string> modulesOf(const std::string &stack) {
  std::vector<std::string> paths;
  std::istringstream entries(stack);
  for (std::string entry; std::getline(entries, entry, ';');) {
    size_t first = entry.find(','), last = entry.rfind(',');
    if (first == std::string::npos || last <= first)
      continue;
    std::string path = entry.substr(first + 1, last - first - 1);
    // A module that is called twice has "@1" after its path.
    paths.push_back(path.substr(0, path.find('@')));
  }
  return paths;
}

/// The innermost line outside of torch of a stack trace.
static std::string innermostLine(const std::string &trace) {
  std::istringstream lines(trace);
  std::string found;
  for (std::string line; std::getline(lines, line);) {
    size_t begin = line.find("File \""), end = line.find("\", line ");
    if (begin == std::string::npos || end == std::string::npos)
      continue;
    std::string path = line.substr(begin + 6, end - begin - 6);
    if (path.find("/torch/") != std::string::npos)
      continue;
    std::string number = line.substr(end + 8);
    found = path.substr(path.rfind('/') + 1) + ":" +
            number.substr(0, number.find(','));
  }
  return found;
}

static Node nodeOf(const Json &value, const Extents &extents) {
  Node node;
  node.target = value.at("target").get<std::string>();
  static const std::string prefix = "torch.ops.";
  if (node.target.rfind(prefix, 0) == 0)
    node.target.erase(0, prefix.size());
  for (const Json &argument : value.at("inputs"))
    node.arguments[argument.at("name").get<std::string>()] =
        argumentOf(argument.at("arg"), extents);
  for (const Json &output : value.at("outputs"))
    addTensors(output, node.outputs);
  const Json &about = value.at("metadata");
  node.modules = modulesOf(about.value("nn_module_stack", ""));
  node.line = innermostLine(about.value("stack_trace", ""));
  return node;
}

//===----------------------------------------------------------------------===//
// Signature
//===----------------------------------------------------------------------===//

static GraphInput inputOf(const Json &spec) {
  auto [kind, inner] = only(spec);
  auto tensor = [&, inner = inner](const char *name, GraphInput::Kind which) {
    return GraphInput{which, inner->at("arg").at("name").get<std::string>(),
                      inner->at(name).get<std::string>()};
  };
  if (kind == "parameter")
    return tensor("parameter_name", GraphInput::Kind::Parameter);
  if (kind == "buffer")
    return tensor("buffer_name", GraphInput::Kind::Buffer);
  if (kind == "tensor_constant")
    return tensor("tensor_constant_name", GraphInput::Kind::Constant);
  if (kind == "user_input" && inner->at("arg").contains("as_tensor")) {
    std::string name = inner->at("arg").at("as_tensor").at("name");
    return {GraphInput::Kind::User, name, name};
  }
  if (kind == "user_input" || kind == "constant_input")
    return {};
  refuse("it takes an input of kind '{}'; known are tensors, parameters and "
         "buffers",
         kind);
}

static GraphOutput outputOf(const Json &spec) {
  auto [kind, inner] = only(spec);
  if (kind == "buffer_mutation")
    return {GraphOutput::Kind::Mutation,
            inner->at("arg").at("name").get<std::string>(),
            inner->at("buffer_name").get<std::string>()};
  if (kind == "loss_output")
    return {GraphOutput::Kind::User,
            inner->at("arg").at("name").get<std::string>(), ""};
  if (kind != "user_output")
    refuse("it returns an output of kind '{}'; known are tensors and new "
           "values of buffers",
           kind);
  if (!inner->at("arg").contains("as_tensor"))
    return {};
  return {GraphOutput::Kind::User,
          inner->at("arg").at("as_tensor").at("name").get<std::string>(), ""};
}

static void readSignature(const Json &signature, Graph &graph) {
  for (const Json &spec : signature.at("input_specs"))
    if (GraphInput input = inputOf(spec); !input.tensor.empty())
      graph.inputs.push_back(std::move(input));
  for (const Json &spec : signature.at("output_specs"))
    if (GraphOutput output = outputOf(spec); !output.tensor.empty())
      graph.outputs.push_back(std::move(output));
  for (const GraphInput &input : graph.inputs)
    if (graph.tensors.count(input.tensor) == 0)
      refuse("its input '{}' has no type", input.tensor);
}

static void readStored(const Archive &archive, const std::string &folder,
                       const std::string &kind, Graph &graph) {
  std::string config;
  for (const std::string &name : archive.names())
    if (name.rfind(folder, 0) == 0 && name.size() > kind.size() &&
        name.compare(name.size() - kind.size(), kind.size(), kind) == 0)
      config = name;
  if (config.empty())
    return;
  Json json = readJson(archive, config);
  for (const auto &[name, about] : json.at("config").items())
    if (!about.at("use_pickle").get<bool>())
      graph.stored[name] = {folder + about.at("path_name").get<std::string>(),
                            metaOf(about.at("tensor_meta"), Extents())};
}

static void checkSchema(const Json &model) {
  int64_t major = model.at("schema_version").at("major").get<int64_t>();
  if (major != knownSchema)
    refuse("its schema has version {}, and version {} is read; write it again "
           "with a PyTorch of that schema (2.7 or later)",
           major, knownSchema);
}

static std::string modelFile(const Archive &archive) {
  std::vector<std::string> models;
  for (const std::string &name : archive.names())
    if (name.rfind("models/", 0) == 0 && name.size() > 12 &&
        name.compare(name.size() - 5, 5, ".json") == 0)
      models.push_back(name);
  if (models.size() != 1)
    refuse("it has {} models, and an archive of torch.export.save has one{}",
           models.size(),
           models.empty() ? "; it may be from a PyTorch before 2.7" : "");
  return models.front();
}

/// Whether a node computes integers or truth values of sizes, which Extents
/// has.
static bool isOfSizes(const Json &node) {
  const Json &outputs = node.at("outputs");
  return !outputs.empty() &&
         std::all_of(outputs.begin(), outputs.end(), [](const Json &one) {
           return one.contains("as_sym_int") || one.contains("as_sym_bool");
         });
}

static Graph readModel(const Archive &archive,
                       const std::map<std::string, int64_t> &wanted) {
  Json model = readJson(archive, modelFile(archive));
  checkSchema(model);
  Graph graph;
  Extents extents(model, wanted);
  const Json &module = model.at("graph_module"), &body = module.at("graph");
  for (const auto &[name, meta] : body.at("tensor_values").items())
    graph.tensors[name] = metaOf(meta, extents);
  for (const Json &node : body.at("nodes"))
    if (!isOfSizes(node))
      graph.nodes.push_back(nodeOf(node, extents));
  readSignature(module.at("signature"), graph);
  readStored(archive, "data/weights/", "_weights_config.json", graph);
  readStored(archive, "data/constants/", "_constants_config.json", graph);
  return graph;
}

Graph torch::readGraph(const Archive &archive,
                       const std::map<std::string, int64_t> &wanted) {
  try {
    return readModel(archive, wanted);
  } catch (const Json::exception &error) {
    refuse("its graph is not as the schema says: {}", error.what());
  } catch (const std::invalid_argument &) {
    refuse("its graph is not as the schema says: a number is a word");
  } catch (const std::out_of_range &) {
    refuse("its graph is not as the schema says: a number is too large");
  }
}
