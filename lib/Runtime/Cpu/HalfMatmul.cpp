#include "CpuMatmul.h"

#include "HalfRows.h"

#include <dnnl.hpp>
#include <fmt/format.h>
#include <omp.h>

#include <cstring>
#include <unordered_map>

namespace tpsp::rt {
namespace {

using dnnl::memory;

size_t roundUp(size_t bytes) { return (bytes + 63) / 64 * 64; }

memory::desc operandDesc(memory::data_type type, int64_t rows, int64_t columns,
                         int64_t ld, bool transpose) {
  return memory::desc({rows, columns}, type,
                      transpose ? memory::dims{1, ld} : memory::dims{ld, 1});
}

/// oneDNN's matmul with 16-bit operands. It sums in f32. Several steps are
/// added up in an f32 matrix, which is rounded once at the end. That matrix is
/// C itself if the product is added to it. Throws
/// dnnl::error if the library has no implementation, or only its slow
/// reference.
class HalfMatmul final : public PreparedMatmul {
public:
  HalfMatmul(const MatmulCommand &command, int threads)
      : command(command), walk(command, threads), ld(command),
        rows(halfRows(command.dtype)) {
    auto type = command.dtype == TPSP_RT_F16 ? memory::data_type::f16
                                             : memory::data_type::bf16;
    descA = operandDesc(type, command.m, command.k, ld.a, command.transposeA);
    descB = operandDesc(type, command.k, command.n, ld.b, command.transposeB);
    descC = isWide() ? operandDesc(memory::data_type::f32, command.m, command.n,
                                   command.adds() ? ld.c : command.n, false)
                     : operandDesc(type, command.m, command.n, ld.c, false);
    // A primitive is built for the number of threads that OpenMP offers here;
    // inside a team that will be one.
    int offered = omp_get_max_threads();
    omp_set_num_threads(walk.threads > 1 ? 1 : threads);
    createPrimitives();
    omp_set_num_threads(offered);
    createArguments();
  }

  Status run(const std::byte *a, const std::byte *b, std::byte *c,
             ScratchBuffer &scratch) override {
    size_t perThread = roundUp(scratchpadDesc.get_size()) + sumBytes();
    std::byte *base = scratch.reserve(perThread * walk.threads);
    return walk.forEachPoint([&](int thread, MatmulOffsets point) -> Status {
      try {
        runPoint(thread, point, reinterpret_cast<const uint16_t *>(a),
                 reinterpret_cast<const uint16_t *>(b), c,
                 base + thread * perThread);
      } catch (const dnnl::error &error) {
        return {TPSP_RT_INTERNAL,
                fmt::format("oneDNN's matmul failed: {}", error.what())};
      }
      return {};
    });
  }

private:
  /// A primitive's arguments, one set for each thread that processes points.
  struct Arguments {
    memory a, b, c, scratchpad;
    std::unordered_map<int, memory> map;
  };

  void createPrimitives() {
    auto create = [&](bool add) {
      dnnl::primitive_attr attr;
      attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
      if (add) {
        dnnl::post_ops sum;
        sum.append_sum(1.0f);
        attr.set_post_ops(sum);
      }
      dnnl::matmul::primitive_desc desc(dnnl::matmul::desc(descA, descB, descC),
                                        attr, engine);
      if (std::strncmp(desc.impl_info_str(), "ref", 3) == 0)
        throw dnnl::error(dnnl_unimplemented, "there is only the reference");
      if (desc.scratchpad_desc().get_size() >= scratchpadDesc.get_size())
        scratchpadDesc = desc.scratchpad_desc();
      return dnnl::matmul(desc);
    };
    first = create(/*add=*/command.adds());
    if (isWide())
      next = create(/*add=*/true);
  }

  void createArguments() {
    arguments.resize(walk.threads);
    for (Arguments &each : arguments) {
      each.a = memory(descA, engine, nullptr);
      each.b = memory(descB, engine, nullptr);
      each.c = memory(descC, engine, nullptr);
      each.scratchpad = memory(scratchpadDesc, engine, nullptr);
      each.map = {{DNNL_ARG_SRC, each.a},
                  {DNNL_ARG_WEIGHTS, each.b},
                  {DNNL_ARG_DST, each.c},
                  {DNNL_ARG_SCRATCHPAD, each.scratchpad}};
    }
  }

  void runPoint(int thread, MatmulOffsets point, const uint16_t *a,
                const uint16_t *b, std::byte *c, std::byte *scratch) {
    std::byte *target = c + point.c * elementBytes(command.resultType());
    std::byte *result = sumsApart() ? scratch : target;
    std::byte *scratchpad = scratch + sumBytes();
    for (int64_t i = 0; i < walk.steps; ++i) {
      MatmulOffsets at = walk.step(point, i);
      execute(i == 0 ? first : next, thread, a + at.a, b + at.b, result,
              scratchpad);
    }
    if (sumsApart())
      round(reinterpret_cast<const float *>(result),
            reinterpret_cast<uint16_t *>(target));
  }

  void execute(const dnnl::matmul &primitive, int thread, const uint16_t *a,
               const uint16_t *b, void *c, std::byte *scratchpad) {
    Arguments &with = arguments[thread];
    with.a.set_data_handle(const_cast<uint16_t *>(a));
    with.b.set_data_handle(const_cast<uint16_t *>(b));
    with.c.set_data_handle(c);
    with.scratchpad.set_data_handle(scratchpad);
    primitive.execute(stream, with.map);
  }

  void round(const float *sum, uint16_t *c) const {
#pragma omp parallel for if (walk.threads == 1)
    for (int64_t i = 0; i < command.m; ++i)
      rows.round(sum + i * command.n, c + i * ld.c, command.n);
  }

  /// Whether oneDNN's results are in f32: in C, or apart from it.
  bool isWide() const { return command.adds() || walk.steps > 1; }
  bool sumsApart() const { return isWide() && !command.adds(); }
  size_t sumBytes() const {
    return sumsApart() ? roundUp(command.m * command.n * sizeof(float)) : 0;
  }

  MatmulCommand command;
  MatmulWalk walk;
  LeadingDimensions ld;
  HalfRows rows;
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  memory::desc descA, descB, descC;
  /// `next` adds to its result.
  dnnl::matmul first, next;
  memory::desc scratchpadDesc;
  std::vector<Arguments> arguments;
};

} // namespace

Status prepareHalfMatmul(const MatmulCommand &command, int threads,
                         std::unique_ptr<PreparedMatmul> &out) {
  try {
    out = std::make_unique<HalfMatmul>(command, threads);
  } catch (const dnnl::error &error) {
    if (error.status == dnnl_unimplemented)
      return prepareConvertedMatmul(command, threads, out);
    return {TPSP_RT_INTERNAL,
            fmt::format("oneDNN has no such matmul: {}", error.what())};
  }
  return {};
}

} // namespace tpsp::rt
