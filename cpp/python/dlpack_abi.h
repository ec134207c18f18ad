// The layout of DLPack's structures, as its specification fixes it (dmlc/dlpack, ABI version 1.x).
// Only what reading a tensor in place needs.
#ifndef GRAMMASK_PYTHON_DLPACK_ABI_H_
#define GRAMMASK_PYTHON_DLPACK_ABI_H_

#include <cstdint>

namespace grammask::python::dlpack {

inline constexpr uint32_t kMajorVersion = 1;

enum DeviceType : int32_t { kCpu = 1, kCuda = 2, kCudaHost = 3, kRocmHost = 11, kCudaManaged = 13 };
enum TypeCode : uint8_t { kInt = 0, kFloat = 2, kBfloat = 4 };
inline constexpr uint64_t kReadOnly = 1;  // a flag of ManagedTensorVersioned

struct Tensor {
  void* data;
  int32_t device_type;
  int32_t device_id;
  int32_t ndim;
  uint8_t type_code;
  uint8_t type_bits;
  uint16_t type_lanes;
  int64_t* shape;
  int64_t* strides;  // in elements; null: compact and row-major
  uint64_t byte_offset;
};

// In a capsule named "dltensor".
struct ManagedTensor {
  Tensor tensor;
  void* manager;
  void (*deleter)(ManagedTensor*);
};

struct Version {
  uint32_t major, minor;
};

// In a capsule named "dltensor_versioned".
struct ManagedTensorVersioned {
  Version version;
  void* manager;
  void (*deleter)(ManagedTensorVersioned*);
  uint64_t flags;
  Tensor tensor;
};

// In a capsule named "dlpack_exchange_api", the attribute __dlpack_c_exchange_api__ of a tensor
// type. `view` fills in a Tensor that borrows from the object; 0, or -1 with a Python error set.
struct ExchangeApi {
  Version version;
  const void* older;
  void (*allocate)();
  void (*managed_from_object)();
  void (*managed_to_object)();
  int (*view)(void* object, Tensor* out);                                     // may be null
  int (*current_stream)(int32_t device_type, int32_t device_id, void** out);  // may be null
};

}  // namespace grammask::python::dlpack

#endif  // GRAMMASK_PYTHON_DLPACK_ABI_H_
