#include "tpsp/Runtime/Driver/Tensors/Inputs.h"

#include "FileFit.h"
#include "tpsp/Abi/ElementType.h"
#include "tpsp/Abi/InvalidStatus.h"
#include "tpsp/Runtime/Driver/Tensors/IntegerRange.h"
#include "tpsp/Runtime/Driver/Tensors/Npy.h"
#include "tpsp/Runtime/Driver/Tensors/SafetensorsSet.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

using namespace tpsp;
using namespace tpsp::rt;
using Kind = BufferKind;

/// The most names of a program's arguments that a message lists.
static constexpr size_t listedNames = 20;

InputsFile tpsp::rt::parseInputsFile(const std::string &text) {
  size_t equals = text.find('=');
  std::error_code none;
  if (equals == text.npos || equals == 0 || std::filesystem::exists(text, none))
    return {text, ""};
  return {text.substr(equals + 1), text.substr(0, equals)};
}

//===----------------------------------------------------------------------===//
// The contents of a file
//===----------------------------------------------------------------------===//

Status InputsSource::openNpy(const InputsFile &file, StoredTensors &out) {
  auto reader = std::make_shared<NpyReader>();
  TPSP_TRY(NpyReader::open(file.path, *reader));
  opened.push_back(file.path);
  std::string name = file.name;
  if (name.empty())
    name = std::filesystem::path(file.path).stem().string();
  out[name] = {file.path, reader->dtype(), elementName(reader->dtype()),
               reader->shape(),
               [reader](int64_t begin, int64_t bytes, void *destination) {
                 return reader->read(begin, bytes, destination);
               }};
  return {};
}

Status InputsSource::readFile(const InputsFile &file, StoredTensors &out) {
  bool isCalledNpy = std::filesystem::path(file.path).extension() == ".npy";
  if (isCalledNpy || NpyReader::looksLike(file.path))
    return openNpy(file, out);
  auto set = std::make_shared<SafetensorsSet>();
  TPSP_TRY(SafetensorsSet::open(file.path, *set));
  for (const std::string &path : set->paths())
    opened.push_back(path);
  if (!file.name.empty())
    return invalid("'{}' says itself what its tensors are called; "
                   "give it without '{}='",
                   file.path, file.name);
  for (const std::string &name : set->names()) {
    const SafetensorsTensor *tensor = set->find(name);
    out[name] = {file.path, elementTypeOf(tensor->dtype).value_or(-1),
                 tensor->dtype, tensor->shape,
                 [set, name](int64_t begin, int64_t bytes, void *destination) {
                   return set->read(name, begin, bytes, destination);
                 }};
  }
  return {};
}

/// Reads the elements [begin, begin + count) a block at a time. Calls
/// visit(element, block, n) with n elements, as they are stored, from `element`
/// on.
template <typename Visit>
Status InputsSource::readBlocks(const Stored &stored, int64_t begin,
                                int64_t count, Visit visit) {
  constexpr int64_t block = 1 << 16;
  int64_t element = elementBytes(stored.dtype), end = begin + count;
  std::vector<char> bytes(std::min(block, count) * element);
  for (; begin < end; begin += block) {
    int64_t n = std::min(block, end - begin);
    TPSP_TRY(stored.read(begin * element, n * element, bytes.data()));
    visit(begin, bytes.data(), n);
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Checks against the program
//===----------------------------------------------------------------------===//

static std::string describe(const PlanBuffer &tensor) {
  return fmt::format("{} ({} of [{}])", quotedName(tensor.name),
                     elementName(tensor.dtype), fmt::join(tensor.shape, ", "));
}

/// Lists every argument, inputs and cotangents first.
static std::string namesTaken(const Plan &plan) {
  std::vector<std::string> names;
  for (Kind kind : {Kind::Input, Kind::Parameter})
    for (const PlanBuffer &tensor : plan.tensors())
      if (tensor.kind == kind)
        names.push_back(describe(tensor));
  return names.empty() ? "nothing" : listOf(names, ", ", listedNames);
}

std::string InputsSource::differenceOf(const PlanBuffer &wanted,
                                       const Stored &stored) {
  // An input of numbers may be counted, as the times of a diffusion are.
  bool takesBoth = !isInteger(wanted.dtype) && wanted.kind == Kind::Input;
  bool fits = stored.dtype >= 0 &&
              (takesBoth || isInteger(stored.dtype) == isInteger(wanted.dtype));
  if (!fits)
    return fmt::format("{} is {}, and {} is taken from {}",
                       quotedName(wanted.name), quotedName(stored.typeName),
                       elementName(wanted.dtype),
                       isInteger(wanted.dtype) ? "i32 and i64"
                       : takesBoth ? "f32, f64, bf16, f16, i32 and i64"
                                   : "f32, f64, bf16 and f16");
  return shapeDifference(wanted, stored.shape);
}

/// Checks that integers are in the argument's range.
Status InputsSource::checkIntegers(const PlanBuffer &wanted,
                                   const Stored &stored) {
  if (!isInteger(wanted.dtype))
    return {};
  IntegerRange range = integerRange(wanted);
  int64_t elements = 1, wrong = -1, value = 0;
  for (int64_t extent : stored.shape)
    elements *= extent;
  auto check = [&](int64_t at, const void *block, int64_t n) {
    for (int64_t i = 0; i < n && wrong < 0; ++i) {
      value = loadInteger(block, stored.dtype, i);
      if (!range.has(value))
        wrong = at + i;
    }
  };
  if (Status s = readBlocks(stored, 0, elements, check); !s.ok() || wrong < 0)
    return s;
  return invalid(
      "'{}': element {} of {} is {}, and its integers are from {} to {}{}",
      stored.path, wrong, quotedName(wanted.name), value, range.least,
      range.most,
      wanted.below ? " (tpsp.below, or the extent that they are positions in)"
                   : "");
}

Status InputsSource::add(const std::string &path, StoredTensors found,
                         const Plan &plan) {
  std::map<std::string, const PlanBuffer *> arguments;
  std::set<std::string> ambiguous;
  for (const PlanBuffer &tensor : plan.tensors())
    if (tensor.isArgument() && !arguments.emplace(tensor.name, &tensor).second)
      ambiguous.insert(tensor.name);
  std::vector<std::string> unknown, differences;
  for (const std::string &name : leftOut)
    if (!arguments.count(name))
      found.erase(name);
  for (const auto &[name, stored] : found) {
    auto argument = arguments.find(name);
    if (argument == arguments.end()) {
      unknown.push_back(quotedName(name));
      continue;
    }
    if (ambiguous.count(name))
      return invalid("two arguments are called {}; names must "
                     "differ to be given (tpsp.name)",
                     quotedName(name));
    if (auto before = tensors.find(name); before != tensors.end())
      return invalid("{} is given twice, by '{}' and by '{}'", quotedName(name),
                     before->second.path, path);
    if (std::string text = differenceOf(*argument->second, stored);
        !text.empty())
      differences.push_back(text);
  }
  if (!unknown.empty())
    return invalid("'{}' gives {}, which the program does not "
                   "take; it takes {}",
                   path, listOf(unknown, ", "), namesTaken(plan));
  if (!differences.empty())
    return invalid("'{}' does not fit the program: {}", path,
                   listOf(differences, "; "));
  for (const auto &[name, stored] : found)
    TPSP_TRY(checkIntegers(*arguments.at(name), stored));
  tensors.merge(found);
  return {};
}

Status InputsSource::open(const std::vector<std::string> &files,
                          const Plan &plan) {
  tensors.clear();
  opened.clear();
  for (const std::string &text : files)
    TPSP_TRY(openFile(parseInputsFile(text), plan));
  return {};
}

Status InputsSource::openFile(const InputsFile &file, const Plan &plan) {
  StoredTensors found;
  TPSP_TRY(readFile(file, found));
  return add(file.path, std::move(found), plan);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

std::set<std::string> InputsSource::given() const {
  std::set<std::string> names;
  for (const auto &entry : tensors)
    names.insert(entry.first);
  return names;
}

bool InputsSource::isGiven(const PlanBuffer &tensor) const {
  return tensors.count(tensor.name) > 0 || others->isGiven(tensor);
}

/// Copies and converts n elements.
static void convert(const void *from, int64_t fromType, int64_t n, void *to,
                    int64_t toType, int64_t at) {
  if (isInteger(toType))
    for (int64_t i = 0; i < n; ++i)
      storeInteger(loadInteger(from, fromType, i), toType, to, at + i);
  else
    for (int64_t i = 0; i < n; ++i)
      storeFloat(loadNumber(from, fromType, i), toType, to, at + i);
}

Status InputsSource::fill(const PlanBuffer &tensor, const Shard &shard,
                          void *memory) const {
  auto found = tensors.find(tensor.name);
  if (found == tensors.end())
    return others->fill(tensor, shard, memory);
  const Stored &stored = found->second;
  int64_t element = elementBytes(tensor.dtype);
  Status status;
  shard.forEachRun([&](int64_t global, int64_t local, int64_t n) {
    if (!status.ok())
      return;
    if (stored.dtype == tensor.dtype)
      status = stored.read(global * element, n * element,
                           static_cast<char *>(memory) + local * element);
    else
      status = readBlocks(stored, global, n,
                          [&](int64_t at, const void *block, int64_t count) {
                            convert(block, stored.dtype, count, memory,
                                    tensor.dtype, local + at - global);
                          });
  });
  return status;
}

Status InputsSource::whole(const PlanBuffer &tensor,
                           std::vector<double> &out) const {
  auto found = tensors.find(tensor.name);
  if (found == tensors.end())
    return others->whole(tensor, out);
  const Stored &stored = found->second;
  out.resize(tensor.elements());
  std::vector<double> cells; // elements as the program stores them
  return readBlocks(stored, 0, tensor.elements(),
                    [&](int64_t at, const void *block, int64_t n) {
                      cells.resize(n);
                      convert(block, stored.dtype, n, cells.data(),
                              tensor.dtype, 0);
                      for (int64_t i = 0; i < n; ++i)
                        out[at + i] = loadNumber(cells.data(), tensor.dtype, i);
                    });
}
