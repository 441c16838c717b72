/* The C ABI that compiled plans call.
 *
 * A compiled plan is one function per program,
 *
 *     tpsp_rt_status step(tpsp_rt_rank *rank, int64_t segment);
 *
 * that issues the commands of one of the plan's segments in order (Plan.h). The
 * runtime calls it for each segment (Rank::step). Every command has the same
 * shape:
 * a call `tpsp_rt_<name>(rank, command)` with a constant `tpsp_rt_command`. So
 * one list of names (calls.def) serves the declarations below, the compiler's
 * lowering, the JIT's symbol binding and the trace. Commands.h defines the
 * integers of a command, and encodes and decodes them for both sides.
 *
 * A call enqueues its command on the command's stream and returns 0, or returns
 * a non-zero status after recording a message on the rank (tpsp_rt_last_error).
 * The generated code returns at the first status that is not 0.
 *
 * This header is plain C, includes nothing of the compiler and may be included
 * by every layer.
 */
#ifndef TPSP_ABI_TPSP_RT_H
#define TPSP_ABI_TPSP_RT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised whenever the calls, tpsp_rt_command or an encoding change.
 * 16: a product may be added to what C holds.
 * 15: attention has chunks.
 * 14: the options of attention's scores are next to each other.
 * 13: attention may have its last keys alone.
 * 12: there is the call transfer, and slots may be of pools.
 * 11: a step is issued in segments, and micro-batches have slots of buffers.
 * 10: blocks of a kernel for GPUs may share work items.
 * 9: attention has lengths of keys; matmuls may be grouped.
 * 7: attention says where its rank's queries start.
 * 6: attention has a window, a soft-cap, a bias and segment numbers.
 * 5: there are the calls attention and attention_gradient.
 * 4: a matmul's parameters end in its epilogue, and its steps' buffers follow
 *    A, B and C; a kernel's position may lie in a shard that is not the
 *    rank's own; there is an element type TPSP_RT_F16. */
#define TPSP_RT_ABI_VERSION 16

/* One rank's execution context. Owned by the runtime; opaque to plans. */
typedef struct tpsp_rt_rank tpsp_rt_rank;

/* 0 is success. */
typedef int32_t tpsp_rt_status;

enum {
  TPSP_RT_OK = 0,
  TPSP_RT_INVALID = 1,     /* a malformed command */
  TPSP_RT_UNSUPPORTED = 2, /* the backend cannot do this */
  TPSP_RT_TIMEOUT = 3,     /* a rank did not arrive at a collective */
  TPSP_RT_ABORTED = 4,     /* another rank failed first */
  TPSP_RT_INTERNAL = 5     /* a library call failed */
};

/* Element types of buffers. */
enum {
  TPSP_RT_F32 = 0,
  TPSP_RT_BF16 = 1,
  TPSP_RT_F64 = 2,
  TPSP_RT_I32 = 3,
  TPSP_RT_I64 = 4,
  TPSP_RT_I8 = 5,
  TPSP_RT_F16 = 6
};

/* How a collective combines elements. */
enum { TPSP_RT_SUM = 0, TPSP_RT_MAX = 1 };

/* A generated kernel on a CPU: does the work items [begin, end) of its grid.
 * buffers: one address per buffer of the command, in order.
 * positions: the rank's global starting position of each index that the kernel
 * asked for (KernelCommand in Commands.h). Work items are independent, so a
 * backend may split the grid over threads. */
typedef void (*tpsp_rt_kernel_function)(void *const *buffers,
                                        const int64_t *positions, int64_t begin,
                                        int64_t end);

/* The same kernel on a GPU, for backends whose arena is a GPU's memory. Let x
 * be a block's number along the first dimension of a launch. The block's
 * `threads` threads do the work items [x * items, (x + 1) * items) that the
 * grid has. Along the second dimension are `parts` blocks, which share these
 * items. Blocks are independent. The kernel's parameters: one 64-bit address
 * per buffer of the command, in order, then one 64-bit integer per position,
 * then the begin and the end of the range of work items, which are 0 and the
 * grid. */
typedef struct tpsp_rt_device_kernel {
  const char *image;    /* PTX, NUL-terminated; a plan's kernels share one */
  const char *entry;    /* the kernel's name in it */
  int64_t threads;      /* of a block: at most 1024 */
  int64_t items;        /* work items of a block: at least 1 */
  int64_t parts;        /* blocks that share them: 1 to 65535 */
  int64_t shared_bytes; /* dynamic shared memory of a block */
} tpsp_rt_device_kernel;

/* One command: constant data in the compiled plan. */
typedef struct tpsp_rt_command {
  int64_t id;            /* index of the command in the plan, from 0. It rises
                            within a step: a command whose id does not rise
                            begins the next step, unless the caller marks
                            steps (Rank::step of World.h) */
  int64_t stream;        /* 0 computes; others communicate */
  const int64_t *params; /* see Commands.h */
  int64_t num_params;
  const int64_t *buffers; /* byte offsets into the rank's arena */
  int64_t num_buffers;
  const int64_t *tiles; /* for each buffer that is a tile counted from the
                           rank's own tile: position in `buffers`, number, bytes
                           from tile to tile, number of axes, the axes. The
                           runtime adds ((own + number) mod group) * bytes to
                           the buffer's offset; own is the rank's number in the
                           group of the axes. */
  int64_t num_tiles;    /* integers in `tiles` */
  const int64_t *slots; /* for each buffer of which every micro-batch has its
                           own part: position in `buffers`, bytes from part to
                           part, and -1 or the number of a pool. The runtime
                           adds the number of the micro-batch, or of its slot in
                           the pool, times these bytes to the buffer's
                           offset. */
  int64_t num_slots;    /* integers in `slots` */
  tpsp_rt_kernel_function kernel;      /* kernel commands only, else null */
  const tpsp_rt_device_kernel *device; /* kernel commands of plans that were
                                          also made for GPUs, else null */
  const char *name; /* for people: "all_gather %xn at gpt.mlir:12:8" */
} tpsp_rt_command;

#define TPSP_RT_CALL(NAME, COMMAND, NATURE)                                    \
  tpsp_rt_status tpsp_rt_##NAME(tpsp_rt_rank *rank,                            \
                                const tpsp_rt_command *command);
#include "tpsp/Abi/calls.def"
#undef TPSP_RT_CALL

/* The message of the rank's first failure, or "" . Owned by the rank. */
const char *tpsp_rt_last_error(const tpsp_rt_rank *rank);

#ifdef __cplusplus
}
#endif

#endif /* TPSP_ABI_TPSP_RT_H */
