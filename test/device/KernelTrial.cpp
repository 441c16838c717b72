#include "KernelTrial.h"

#include "HostCode.h"

#include "tpsp/Dialect/Plan/PlanDialect.h"
#include "tpsp/InitAll.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"

#include <cmath>
#include <random>

using namespace mlir;
using namespace tpsp;
using namespace tpsp::device;

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

std::unique_ptr<MLIRContext> tpsp::device::newContext() {
  DialectRegistry registry;
  registerAllDialects(registry);
  return std::make_unique<MLIRContext>(registry,
                                       MLIRContext::Threading::DISABLED);
}

Program::Program(const std::string &text, CompileOptions options)
    : context(newContext()) {
  context->getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
    messages += diagnostic.str() + "\n";
    return success();
  });
  auto parsed = parseSourceString<ModuleOp>(text, context.get());
  if (!parsed) {
    ADD_FAILURE() << messages << text;
    return;
  }
  options.device = "cuda";
  auto compiled =
      compileModule(std::move(parsed), "test", options, [](StringRef) {});
  if (compiled)
    model = std::move(*compiled);
  else
    ADD_FAILURE() << messages << llvm::toString(compiled.takeError()) << "\n"
                  << text;
}

/// "tensor<2x3xf32, #tpsp.idx<b, s>>" for "b=2,s=3".
static std::string typeOf(StringRef indices) {
  indices = indices.trim();
  std::string element = indices.consume_front("#") ? "i32" : "f32";
  std::string shape, names;
  SmallVector<StringRef> entries;
  indices.split(entries, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef entry : entries) {
    auto [name, extent] = entry.trim().split('=');
    if (name == ".")
      continue;
    shape += extent.str() + "x";
    names += (names.empty() ? "" : ", ") + name.str();
  }
  return "tensor<" + shape + element + ", #tpsp.idx<" + names + ">>";
}

std::string tpsp::device::operationText(const std::string &mnemonic,
                                        const std::string &signature,
                                        const std::string &attributes) {
  auto [operands, result] = StringRef(signature).split("->");
  SmallVector<StringRef> list;
  operands.split(list, ';');
  std::string parameters, values, types;
  for (auto [i, indices] : llvm::enumerate(list)) {
    std::string comma = i ? ", " : "", name = "%x" + std::to_string(i);
    parameters += comma + name + ": " + typeOf(indices);
    values += comma + name;
    types += comma + typeOf(indices);
  }
  return "func.func @f(" + parameters + ") -> " + typeOf(result) + " {\n" +
         "  %y = tpsp." + mnemonic + " " + values + " " + attributes + " : (" +
         types + ") -> " + typeOf(result) +
         "\n  return %y : " + typeOf(result) + "\n}\n";
}

std::string tpsp::device::exampleText(const std::string &name) {
  auto file = llvm::MemoryBuffer::getFile(TPSP_EXAMPLES "/" + name + ".mlir");
  return file ? (*file)->getBuffer().str() : "";
}

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

namespace {

/// A buffer of elements of some type.
class Memory {
public:
  Memory(MemRefType type)
      : element(type.getElementType()), count(type.getNumElements()),
        bytes(count * type.getElementTypeBitWidth() / 8, char(0xff)) {}

  void write(const std::vector<double> &values) {
    for (int64_t i = 0; i < count; ++i)
      put(i, values[i]);
  }
  std::vector<double> read() const {
    std::vector<double> values;
    for (int64_t i = 0; i < count; ++i)
      values.push_back(get(i));
    return values;
  }
  void *address() { return bytes.data(); }

private:
  void put(int64_t i, double value) {
    if (element.isF64())
      at<double>(i) = value;
    else if (element.isF32())
      at<float>(i) = float(value);
    else if (element.getIntOrFloatBitWidth() == 16)
      at<uint16_t>(i) = bitsOf(value);
    else if (element.isInteger(32))
      at<int32_t>(i) = int32_t(value);
    else
      at<int8_t>(i) = int8_t(value);
  }
  double get(int64_t i) const {
    if (element.isF64())
      return at<double>(i);
    if (element.isF32())
      return double(at<float>(i));
    if (element.getIntOrFloatBitWidth() == 16)
      return valueOf(at<uint16_t>(i));
    return element.isInteger(32) ? at<int32_t>(i) : at<int8_t>(i);
  }

  uint16_t bitsOf(double value) const {
    llvm::APFloat number(value);
    bool losesInfo;
    number.convert(cast<FloatType>(element).getFloatSemantics(),
                   llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    return uint16_t(number.bitcastToAPInt().getZExtValue());
  }
  double valueOf(uint16_t bits) const {
    llvm::APFloat number(cast<FloatType>(element).getFloatSemantics(),
                         llvm::APInt(16, bits));
    bool losesInfo;
    number.convert(llvm::APFloat::IEEEdouble(),
                   llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    return number.convertToDouble();
  }
  template <typename T> T &at(int64_t i) {
    return reinterpret_cast<T *>(bytes.data())[i];
  }
  template <typename T> const T &at(int64_t i) const {
    return reinterpret_cast<const T *>(bytes.data())[i];
  }

  Type element;
  int64_t count;
  std::vector<char> bytes;
};

/// The parameters of one call, and its outputs.
class Call {
public:
  explicit Call(func::FuncOp function) {
    for (Type type : function.getArgumentTypes())
      if (auto buffer = dyn_cast<MemRefType>(type))
        buffers.emplace_back(buffer);
    integers.resize(function.getNumArguments() - buffers.size());
  }

  void setInput(int64_t i, const std::vector<double> &values) {
    buffers[i].write(values);
  }
  std::vector<double> value(int64_t i) const { return buffers[i].read(); }
  int64_t size() const { return int64_t(buffers.size()); }

  /// Returns the addresses of the parameters: buffers, positions, the range.
  std::vector<void *> parameters(ArrayRef<int64_t> positions, int64_t begin,
                                 int64_t end) {
    pointers.clear();
    for (Memory &buffer : buffers)
      pointers.push_back(buffer.address());
    integers.assign(positions.begin(), positions.end());
    integers.insert(integers.end(), {begin, end});
    std::vector<void *> all;
    for (void *&pointer : pointers)
      all.push_back(&pointer);
    for (int64_t &integer : integers)
      all.push_back(&integer);
    return all;
  }

private:
  std::vector<Memory> buffers;
  std::vector<void *> pointers;
  std::vector<int64_t> integers;
};

struct Kernel {
  std::string name;
  func::FuncOp function, wide;
  /// The first command that calls the kernel.
  plan::KernelOp command;
  int64_t inputs = 0, grid = 1, positions = 0;
};

class Trial {
public:
  Trial(Program &program, Program &wide) : program(program), wide(wide) {}

  std::string run() {
    if (std::string error = compile(); !error.empty())
      return error;
    std::vector<Kernel> kernels = findKernels();
    if (kernels.empty())
      return "the program has no kernels";
    for (const Kernel &kernel : kernels)
      for (double least : {0.1, -1.5})
        if (std::string error = tryKernel(kernel, least); !error.empty())
          return kernel.name + ": " + error;
    return "";
  }

private:
  std::string compile() {
    auto take = [](auto &to, auto from) -> std::string {
      if (!from)
        return llvm::toString(from.takeError());
      to = std::move(*from);
      return "";
    };
    std::string error = take(host, hostKernels(*program.model.module));
    if (error.empty())
      error = take(oracle, hostKernels(*wide.model.module));
    if (error.empty())
      error = take(device, DeviceCode::create(*program.model.module));
    return error;
  }

  std::vector<Kernel> findKernels() {
    std::vector<Kernel> kernels;
    llvm::StringMap<plan::KernelOp> seen;
    ModuleOp plan = *program.model.module;
    plan.walk([&](plan::KernelOp command) {
      Kernel kernel;
      kernel.name = command.getCallee().str();
      kernel.command = command;
      auto [first, isNew] = seen.try_emplace(kernel.name, command);
      for (auto [buffer, same] :
           llvm::zip(command.getOutputs(), first->second.getOutputs()))
        maker[buffer] = same;
      if (!isNew)
        return;
      kernel.function = plan.lookupSymbol<func::FuncOp>(kernel.name);
      kernel.wide = wide.model.module->lookupSymbol<func::FuncOp>(kernel.name);
      kernel.inputs = int64_t(command.getInputs().size());
      kernel.grid = command.getGrid();
      kernel.positions = int64_t(command.getPositions().size());
      kernels.push_back(kernel);
    });
    return kernels;
  }

  std::vector<double> random(MemRefType type, double least) {
    std::uniform_real_distribution<double> number(least, 1.5);
    std::uniform_int_distribution<int> position(-1, 8), bit(0, 1);
    std::vector<double> values(type.getNumElements());
    for (double &value : values)
      value = type.getElementType().isInteger(32)  ? position(engine)
              : type.getElementType().isInteger(8) ? bit(engine)
                                                   : number(engine);
    return values;
  }

  std::string tryKernel(const Kernel &kernel, double least) {
    if (!kernel.wide)
      return "the f64 program has no such kernel";
    Call cpu(func::FuncOp(kernel.function)), exact(func::FuncOp(kernel.wide));
    for (int64_t i = 0; i < kernel.inputs; ++i) {
      func::FuncOp function = kernel.function;
      auto type = cast<MemRefType>(function.getArgumentTypes()[i]);
      auto made = integers.find(
          maker.lookup(plan::KernelOp(kernel.command).getInputs()[i]));
      cpu.setInput(i,
                   made != integers.end() ? made->second : random(type, least));
      exact.setInput(i, cpu.value(i));
    }
    SmallVector<int64_t> positions;
    for (int64_t i = 0; i < kernel.positions; ++i)
      positions.push_back(3 + 2 * i);
    Call poisoned = cpu;
    host->lookup(kernel.name)(cpu.parameters(positions, 0, kernel.grid).data());
    oracle->lookup(kernel.name)(
        exact.parameters(positions, 0, kernel.grid).data());
    keepIntegers(kernel, cpu);
    for (ThreadOrder order :
         {ThreadOrder::Forward, ThreadOrder::Backward, ThreadOrder::Shuffled}) {
      Call gpu = poisoned;
      std::string error = launch(kernel, gpu, positions, order);
      if (error.empty())
        error = compare(kernel, gpu, cpu, exact);
      if (!error.empty())
        return error + ", threads in order " + std::to_string(int(order));
    }
    return "";
  }

  /// Keeps the integers that a kernel makes for kernels that read them. Random
  /// ones would be no valid list.
  void keepIntegers(const Kernel &kernel, const Call &call) {
    for (auto [i, buffer] :
         llvm::enumerate(plan::KernelOp(kernel.command).getOutputs()))
      if (cast<MemRefType>(buffer.getType()).getElementType().isInteger(32))
        integers[buffer] = call.value(kernel.inputs + int64_t(i));
  }

  std::string launch(const Kernel &kernel, Call &call,
                     ArrayRef<int64_t> positions, ThreadOrder order) {
    DeviceLaunch launch = device->launchOf(kernel.name);
    if (launch.threads < 1 || launch.threads > 1024 || launch.items < 1)
      return "no launch";
    return device->launch(
        kernel.name,
        {int64_t(llvm::divideCeil(kernel.grid, launch.items)), launch.parts},
        launch.threads, call.parameters(positions, 0, kernel.grid).data(),
        order);
  }

  static double magnitude(const std::vector<double> &values) {
    double largest = 0;
    for (double value : values)
      if (std::isfinite(value))
        largest = std::max(largest, std::abs(value));
    return largest;
  }

  /// Returns the relative error to allow for. In f32 it is sixteen roundings:
  /// random numbers may give a norm's kernel a sum that cancels, and its root
  /// magnifies the sum's rounding.
  static double unitOf(Type element) {
    return element.isBF16() ? 0x1p-8 : element.isF16() ? 0x1p-11 : 0x1p-20;
  }

  /// The allowed difference is four times the CPU's error and a few roundings
  /// of the largest value, because sums may have another order.
  static std::string compare(const Kernel &kernel, const Call &gpu,
                             const Call &cpu, const Call &exact) {
    func::FuncOp function = kernel.function;
    for (int64_t i = kernel.inputs; i < gpu.size(); ++i) {
      auto type = cast<MemRefType>(function.getArgumentTypes()[i]);
      bool isExact = type.getElementType().isInteger();
      double unit = unitOf(type.getElementType());
      std::vector<double> g = gpu.value(i), c = cpu.value(i),
                          e = exact.value(i);
      double scale = isExact ? 0 : unit * magnitude(e);
      for (size_t at = 0; at < g.size(); ++at) {
        bool same = g[at] == c[at] || (std::isnan(g[at]) && std::isnan(c[at]));
        double allowed = 4 * std::abs(c[at] - e[at]) + scale;
        if (!same && !(std::abs(g[at] - e[at]) <= allowed))
          return "element " + std::to_string(at) + " of buffer " +
                 std::to_string(i) + " is " + std::to_string(g[at]) +
                 " on the GPU, " + std::to_string(c[at]) +
                 " on the CPU, exactly " + std::to_string(e[at]);
      }
    }
    return "";
  }

  Program &program, &wide;
  std::unique_ptr<HostCode> host, oracle;
  std::unique_ptr<DeviceCode> device;
  std::mt19937 engine{4711};
  /// Maps a buffer that a kernel makes to the buffer of the first command with
  /// that kernel.
  llvm::DenseMap<Value, Value> maker;
  llvm::DenseMap<Value, std::vector<double>> integers;
};

} // namespace

static std::string inF64(std::string text) {
  for (size_t at = 0; (at = text.find("f32", at)) != std::string::npos;)
    text.replace(at, 3, "f64");
  const std::string program = "tpsp.program <";
  if (size_t at = text.find(program); at != std::string::npos)
    text.replace(at, program.size(), "tpsp.program f64 <");
  return text;
}

std::string tpsp::device::firstDifference(const std::string &text,
                                          const CompileOptions &options,
                                          Change change) {
  CompileOptions wideOptions = options;
  wideOptions.dtype = "";
  Program program(text, options), wide(inF64(text), wideOptions);
  if (!program || !wide)
    return "the program does not compile";
  change(*program.model.module);
  return Trial(program, wide).run();
}
