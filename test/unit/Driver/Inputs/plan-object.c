/* A shared object such as plans have: an export, constants, and addresses of
   them. Each macro adds something that no plan may have. */

static const int constants[4] = {1, 2, 3, 4};
const int *const addresses[2] __attribute__((visibility("hidden"))) = {
    &constants[1], &constants[3]};

int tpsp_plan_step(void *rank) {
  return *addresses[0] + *addresses[1] - 6 + (rank == 0);
}

#ifdef WITH_CONSTRUCTOR
static volatile int ran;
__attribute__((constructor)) static void construct(void) { ran = 1; }
#endif

#ifdef WITH_INDIRECT
static int two(void) { return 2; }
static void *choose(void) { return (void *)two; }
int indirect(void) __attribute__((ifunc("choose")));
#endif

#ifdef WITH_THREAD_STORAGE
__thread int each = 1;
#endif
