// The fatbin that nvcc made of kernels.cu, put into the library as it is (GRAMMASK_CUDA_IMAGE is
// its path); nothing where there was no nvcc.
#include "kernels/cuda/driver.h"

#ifdef GRAMMASK_CUDA_IMAGE
asm(R"(
    .pushsection .rodata
    .balign 64
    .global grammask_cuda_image_begin
    .hidden grammask_cuda_image_begin
    .global grammask_cuda_image_end
    .hidden grammask_cuda_image_end
grammask_cuda_image_begin:
    .incbin ")" GRAMMASK_CUDA_IMAGE R"("
grammask_cuda_image_end:
    .byte 0
    .popsection
)");
extern "C" __attribute__((visibility("hidden"))) const unsigned char grammask_cuda_image_begin[];
extern "C" __attribute__((visibility("hidden"))) const unsigned char grammask_cuda_image_end[];
#endif

namespace grammask::internal::cuda {

std::span<const unsigned char> KernelImage() {
#ifdef GRAMMASK_CUDA_IMAGE
  return {grammask_cuda_image_begin, grammask_cuda_image_end};
#else
  return {};
#endif
}

}  // namespace grammask::internal::cuda
