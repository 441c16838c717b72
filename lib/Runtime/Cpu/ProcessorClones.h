/// The build is for any x86-64. A function marked TPSP_CLONES is compiled for
/// processors with AVX2 as well, and chosen when the program is loaded.
/// Rounding to bf16 takes twice as long without AVX2's packing of integers.
/// Sanitizers run too early for that.
#ifndef TPSP_RUNTIME_CPU_PROCESSORCLONES_H
#define TPSP_RUNTIME_CPU_PROCESSORCLONES_H

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&         \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define TPSP_CLONES [[gnu::target_clones("avx2", "default")]]
#else
#define TPSP_CLONES
#endif

#endif // TPSP_RUNTIME_CPU_PROCESSORCLONES_H
