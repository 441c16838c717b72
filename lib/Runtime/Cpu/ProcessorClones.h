/// The build is for any x86-64. A function marked TPSP_CLONES is compiled for
/// AVX2 as well, and the version is chosen when the program is loaded. Rounding
/// to bf16 takes twice as long without AVX2's packing of integers. Sanitizers
/// start too early for this choice, so their builds have no clones.
#ifndef TPSP_RUNTIME_CPU_PROCESSORCLONES_H
#define TPSP_RUNTIME_CPU_PROCESSORCLONES_H

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&         \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define TPSP_CLONES [[gnu::target_clones("avx2", "default")]]
#else
#define TPSP_CLONES
#endif

#endif // TPSP_RUNTIME_CPU_PROCESSORCLONES_H
