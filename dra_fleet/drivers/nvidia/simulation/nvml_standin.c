/* A stand-in for libnvidia-ml.so.1: the GPUs of a machine come from a text file.
 *
 * NVML_STANDIN names the file, NVML_STANDIN_CALLS a file that gets the name of each function when it is called
 * first, NVML_STANDIN_CAPABILITIES a directory that shows partitions as /proc/driver/nvidia/capabilities does; those
 * made at run time outlive the process in it. A function that is missing here ends the caller with the dynamic
 * linker's message, which names it.
 * Each line of the file is one of
 *   driver VERSION                   cuda NUMBER                   fabric UUID-WITHOUT-DASHES CLIQUE
 *   gpu MINOR UUID PCI-ADDRESS ARCHITECTURE MAJOR MINOR BRAND MIB MIG-CAPABLE MIG-MODE ADDRESSING VIRTUAL MODULE NAME
 *   profile INDEX ID SLICES SMS CE DEC ENC JPEG OFA MIB SIZE START,START...     (of the GPU named before)
 *   mig ID START                                                                 (a partition of that GPU)
 * The types are those of NVIDIA's header nvml.h; the numbers are its constants.
 */
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include "nvml.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_GPUS = 32, MAX_PROFILES = 20, MAX_INSTANCES = 16, MAX_STARTS = 16, MAX_CALLS = 128 };

typedef struct {
  int index, id, slices, sms, copy, decode, encode, jpeg, ofa, size, starts;
  int start[MAX_STARTS];
  unsigned long long mib;
} Profile;

typedef struct Instance Instance;

typedef struct {
  Instance *partition; /* NULL: a whole GPU */
  int minor, architecture, major, minor_capability, brand, mig_capable, mig_mode, addressing, virtual, module, profiles;
  unsigned long long mib;
  char uuid[96], address[32], name[96];
  Profile profile[MAX_PROFILES];
  Instance *instance[MAX_INSTANCES];
} Gpu;

struct Instance {
  int id, start, has_compute;
  Profile *profile;
  Gpu *gpu;
  Gpu handle;
};

static Gpu gpus[MAX_GPUS];
static int gpu_count, cuda_version;
static char driver_version[80];
static unsigned char fabric_cluster[NVML_GPU_FABRIC_UUID_LEN];
static int fabric_clique = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* NVML's handles are structs around a pointer. */
#define GPU(handle) (*(Gpu **)&(handle))
#define INSTANCE(handle) (*(Instance **)&(handle))
#define CALLED note_call(__func__)

static void note_call(const char *name) {
  static const char *noted[MAX_CALLS];
  static int count;
  const char *path = getenv("NVML_STANDIN_CALLS");
  if (!path) return;
  pthread_mutex_lock(&lock);
  int known = count == MAX_CALLS;
  for (int i = 0; i < count; i++) known |= noted[i] == name;
  if (!known) {
    noted[count++] = name;
    FILE *out = fopen(path, "a");
    if (out) {
      fprintf(out, "%s\n", name);
      fclose(out);
    }
  }
  pthread_mutex_unlock(&lock);
}

enum { CAPABILITIES_OF_INSTANCE = 9, INSTANCES_OF_GPU = 15, FIRST_CAPABILITY = 3 };

static int capability_path(char *path, size_t size, const Gpu *gpu, int id, const char *file) {
  const char *root = getenv("NVML_STANDIN_CAPABILITIES");
  return root && snprintf(path, size, "%s/gpu%d/mig/gi%d/%s", root, gpu->minor, id, file) < (int)size;
}

/* Minors are counted as in /proc/driver/nvidia-caps/mig-minors: each GPU has 15 instances, each of them 8 compute
 * instances. */
static void show_capability(const Gpu *gpu, int id, const char *file, int minor, const Instance *remembered) {
  char path[512];
  if (!capability_path(path, sizeof path, gpu, id, file)) return;
  for (char *slash = path + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
    *slash = 0;
    mkdir(path, 0755);
  }
  FILE *out = fopen(path, "w");
  if (!out) {
    perror(path);
    return;
  }
  fprintf(out, "DeviceFileMinor: %d\nDeviceFileMode: 292\nDeviceFileModify: 1\n", minor);
  if (remembered) fprintf(out, "StandInPartition: %d %d\n", remembered->profile->id, remembered->start);
  fclose(out);
}

static int first_minor(const Gpu *gpu, int id) {
  return FIRST_CAPABILITY + (gpu->minor * INSTANCES_OF_GPU + id) * CAPABILITIES_OF_INSTANCE;
}

static void show_instance(const Instance *one, int remember) {
  show_capability(one->gpu, one->id, "access", first_minor(one->gpu, one->id), remember ? one : NULL);
}

static void show_compute(Instance *one) {
  one->has_compute = 1;
  show_capability(one->gpu, one->id, "ci0/access", first_minor(one->gpu, one->id) + 1, NULL);
}

static void hide(const Gpu *gpu, int id, const char *file) {
  char path[512];
  if (capability_path(path, sizeof path, gpu, id, file)) unlink(path);
}

static Instance *make_instance(Gpu *gpu, Profile *profile, int start, int place) {
  for (int i = 0; i < MAX_INSTANCES; i++) {
    Instance *other = gpu->instance[i];
    if (!other) {
      if (place < 0) place = i;
    } else if (i == place || (start < other->start + other->profile->size && other->start < start + profile->size)) {
      return NULL;
    }
  }
  Instance *made = place < 0 ? NULL : calloc(1, sizeof *made);
  if (!made) return NULL;
  made->id = place + 1;
  made->start = start;
  made->profile = profile;
  made->gpu = gpu;
  made->handle = *gpu;
  made->handle.partition = made;
  memset(made->handle.instance, 0, sizeof made->handle.instance);
  snprintf(made->handle.uuid, sizeof made->handle.uuid, "MIG-%08x-%04x-5000-8000-%012x", gpu->minor + 1, profile->id, start);
  gpu->instance[place] = made;
  return made;
}

static Profile *profile_of_id(Gpu *gpu, int id) {
  for (int i = 0; i < gpu->profiles; i++)
    if (gpu->profile[i].id == id) return &gpu->profile[i];
  return NULL;
}

static int read_gpu(const char *line) {
  if (gpu_count == MAX_GPUS) return 0;
  Gpu *gpu = &gpus[gpu_count];
  int end = 0;
  int found = sscanf(line, "gpu %d %95s %31s %d %d %d %d %llu %d %d %d %d %d %n", &gpu->minor, gpu->uuid, gpu->address,
                     &gpu->architecture, &gpu->major, &gpu->minor_capability, &gpu->brand, &gpu->mib, &gpu->mig_capable,
                     &gpu->mig_mode, &gpu->addressing, &gpu->virtual, &gpu->module, &end);
  if (found != 13 || !end) return 0;
  snprintf(gpu->name, sizeof gpu->name, "%s", line + end);
  gpu_count++;
  return 1;
}

static int read_profile(const char *line) {
  Gpu *gpu = &gpus[gpu_count - 1];
  char starts[128];
  if (!gpu_count || gpu->profiles == MAX_PROFILES) return 0;
  Profile *p = &gpu->profile[gpu->profiles];
  if (sscanf(line, "profile %d %d %d %d %d %d %d %d %d %llu %d %127s", &p->index, &p->id, &p->slices, &p->sms, &p->copy,
             &p->decode, &p->encode, &p->jpeg, &p->ofa, &p->mib, &p->size, starts) != 12)
    return 0;
  for (char *s = strtok(starts, ","); s && p->starts < MAX_STARTS; s = strtok(NULL, ",")) p->start[p->starts++] = atoi(s);
  gpu->profiles++;
  return 1;
}

static int read_partition(const char *line) {
  int id, start;
  if (!gpu_count || sscanf(line, "mig %d %d", &id, &start) != 2) return 0;
  Profile *profile = profile_of_id(&gpus[gpu_count - 1], id);
  Instance *made = profile ? make_instance(&gpus[gpu_count - 1], profile, start, -1) : NULL;
  if (!made) return 0;
  show_instance(made, 0);
  show_compute(made);
  return 1;
}

/* Partitions that were made at run time, by a process before this one. */
static void restore_partition(Gpu *gpu, int id) {
  char path[512], line[128];
  int profile, start;
  Instance *made = NULL;
  FILE *in = capability_path(path, sizeof path, gpu, id, "access") ? fopen(path, "r") : NULL;
  if (!in || gpu->instance[id - 1]) {
    if (in) fclose(in);
    return;
  }
  while (fgets(line, sizeof line, in)) {
    if (sscanf(line, "StandInPartition: %d %d", &profile, &start) != 2) continue;
    Profile *found = profile_of_id(gpu, profile);
    if (found) made = make_instance(gpu, found, start, id - 1);
  }
  fclose(in);
  if (!made) {
    hide(gpu, id, "access");
    return;
  }
  gpu->mig_mode = 1;
  made->has_compute = capability_path(path, sizeof path, gpu, id, "ci0/access") && !access(path, F_OK);
}

static int read_fabric(const char *line) {
  char uuid[2 * NVML_GPU_FABRIC_UUID_LEN + 1];
  if (sscanf(line, "fabric %32[0-9a-f] %d", uuid, &fabric_clique) != 2) return 0;
  for (int i = 0; i < NVML_GPU_FABRIC_UUID_LEN; i++)
    if (sscanf(uuid + 2 * i, "%2hhx", &fabric_cluster[i]) != 1) return 0;
  return 1;
}

static nvmlReturn_t load(void) {
  static int loaded;
  const char *path = getenv("NVML_STANDIN");
  char line[512];
  if (loaded) return NVML_SUCCESS;
  FILE *in = path ? fopen(path, "r") : NULL;
  if (!in) {
    fprintf(stderr, "NVML stand-in: NVML_STANDIN names no file that can be read: %s\n", path ? path : "(unset)");
    return NVML_ERROR_DRIVER_NOT_LOADED;
  }
  while (fgets(line, sizeof line, in)) {
    line[strcspn(line, "\n")] = 0;
    if (sscanf(line, "driver %79s", driver_version) == 1 || sscanf(line, "cuda %d", &cuda_version) == 1) continue;
    if (read_fabric(line) || read_gpu(line) || read_profile(line) || read_partition(line)) continue;
    fprintf(stderr, "NVML stand-in: %s: not understood: %s\n", path, line);
    fclose(in);
    return NVML_ERROR_UNKNOWN;
  }
  fclose(in);
  for (int i = 0; i < gpu_count; i++)
    for (int id = 1; id <= MAX_INSTANCES; id++) restore_partition(&gpus[i], id);
  loaded = 1;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlInit_v2(void) { CALLED; return load(); }
nvmlReturn_t nvmlInitWithFlags(unsigned int flags) { CALLED; (void)flags; return load(); }
nvmlReturn_t nvmlShutdown(void) { CALLED; return NVML_SUCCESS; }

const char *nvmlErrorString(nvmlReturn_t code) {
  CALLED;
  switch (code) {
    case NVML_SUCCESS: return "Success";
    case NVML_ERROR_INVALID_ARGUMENT: return "Invalid Argument";
    case NVML_ERROR_NOT_SUPPORTED: return "Not Supported";
    case NVML_ERROR_NOT_FOUND: return "Not Found";
    case NVML_ERROR_INSUFFICIENT_SIZE: return "Insufficient Size";
    case NVML_ERROR_DRIVER_NOT_LOADED: return "Driver Not Loaded";
    case NVML_ERROR_IN_USE: return "In use by another client";
    case NVML_ERROR_INSUFFICIENT_RESOURCES: return "Insufficient Resources";
    default: return "Unknown Error";
  }
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *text, unsigned int size) {
  CALLED;
  snprintf(text, size, "%s", driver_version);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *version) { CALLED; *version = cuda_version; return NVML_SUCCESS; }
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version) { CALLED; *version = cuda_version; return NVML_SUCCESS; }

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count) { CALLED; *count = gpu_count; return NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device) {
  CALLED;
  if (index >= (unsigned int)gpu_count) return NVML_ERROR_INVALID_ARGUMENT;
  GPU(*device) = &gpus[index];
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device) {
  CALLED;
  for (int i = 0; i < gpu_count; i++) {
    if (!strcmp(uuid, gpus[i].uuid)) {
      GPU(*device) = &gpus[i];
      return NVML_SUCCESS;
    }
    for (int k = 0; k < MAX_INSTANCES; k++) {
      Instance *one = gpus[i].instance[k];
      if (one && !strcmp(uuid, one->handle.uuid)) {
        GPU(*device) = &one->handle;
        return NVML_SUCCESS;
      }
    }
  }
  return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *text, unsigned int size) {
  CALLED;
  snprintf(text, size, "%s", GPU(device)->name);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *text, unsigned int size) {
  CALLED;
  snprintf(text, size, "%s", GPU(device)->uuid);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetBrand(nvmlDevice_t device, nvmlBrandType_t *brand) { CALLED; *brand = GPU(device)->brand; return NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned int *minor) { CALLED; *minor = GPU(device)->minor; return NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int *index) { CALLED; *index = GPU(device) - gpus; return NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetModuleId(nvmlDevice_t device, unsigned int *module) { CALLED; *module = GPU(device)->module; return NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetArchitecture(nvmlDevice_t device, nvmlDeviceArchitecture_t *architecture) {
  CALLED;
  *architecture = GPU(device)->architecture;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor) {
  CALLED;
  *major = GPU(device)->major;
  *minor = GPU(device)->minor_capability;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory) {
  CALLED;
  Gpu *gpu = GPU(device);
  memory->total = (gpu->partition ? gpu->partition->profile->mib : gpu->mib) << 20;
  memory->free = memory->total;
  memory->used = 0;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci) {
  CALLED;
  memset(pci, 0, sizeof *pci);
  if (sscanf(GPU(device)->address, "%x:%x:%x", &pci->domain, &pci->bus, &pci->device) != 3) return NVML_ERROR_NOT_SUPPORTED;
  snprintf(pci->busId, sizeof pci->busId, "%08X:%02X:%02X.0", pci->domain, pci->bus, pci->device);
  snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, "%04X:%02X:%02X.0", pci->domain, pci->bus, pci->device);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetAddressingMode(nvmlDevice_t device, nvmlDeviceAddressingMode_t *mode) {
  CALLED;
  if (GPU(device)->addressing < 0) return NVML_ERROR_NOT_SUPPORTED;
  mode->value = GPU(device)->addressing;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetVirtualizationMode(nvmlDevice_t device, nvmlGpuVirtualizationMode_t *mode) {
  CALLED;
  *mode = GPU(device)->virtual ? NVML_GPU_VIRTUALIZATION_MODE_VGPU : NVML_GPU_VIRTUALIZATION_MODE_NONE;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int *current, unsigned int *pending) {
  CALLED;
  if (!GPU(device)->mig_capable) return NVML_ERROR_NOT_SUPPORTED;
  *current = *pending = GPU(device)->mig_mode;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceSetMigMode(nvmlDevice_t device, unsigned int mode, nvmlReturn_t *status) {
  CALLED;
  *status = GPU(device)->mig_capable ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
  if (*status == NVML_SUCCESS) GPU(device)->mig_mode = mode;
  return *status;
}
nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned int *count) {
  CALLED;
  *count = GPU(device)->mig_capable ? MAX_INSTANCES : 0;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned int *is_partition) {
  CALLED;
  *is_partition = GPU(device)->partition != NULL;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t device, nvmlDeviceAttributes_t *attributes) {
  CALLED;
  if (!GPU(device)->partition) return NVML_ERROR_NOT_SUPPORTED;
  const Profile *p = GPU(device)->partition->profile;
  *attributes = (nvmlDeviceAttributes_t){
      .multiprocessorCount = p->sms,
      .sharedCopyEngineCount = p->copy,
      .sharedDecoderCount = p->decode,
      .sharedEncoderCount = p->encode,
      .sharedJpegCount = p->jpeg,
      .sharedOfaCount = p->ofa,
      .gpuInstanceSliceCount = p->slices,
      .computeInstanceSliceCount = p->slices,
      .memorySizeMB = p->mib,
  };
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetGpuFabricInfo(nvmlDevice_t device, nvmlGpuFabricInfo_t *info) {
  CALLED;
  (void)device;
  if (fabric_clique < 0) return NVML_ERROR_NOT_SUPPORTED;
  memset(info, 0, sizeof *info);
  memcpy(info->clusterUuid, fabric_cluster, sizeof info->clusterUuid);
  info->cliqueId = fabric_clique;
  info->state = NVML_GPU_FABRIC_STATE_COMPLETED;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t partition, nvmlDevice_t *device) {
  CALLED;
  if (!GPU(partition)->partition) return NVML_ERROR_INVALID_ARGUMENT;
  GPU(*device) = GPU(partition)->partition->gpu;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned int index, nvmlDevice_t *partition) {
  CALLED;
  Instance *one = index < MAX_INSTANCES ? GPU(device)->instance[index] : NULL;
  if (!one || !one->has_compute) return NVML_ERROR_NOT_FOUND;
  GPU(*partition) = &one->handle;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t device, unsigned int *id) {
  CALLED;
  if (!GPU(device)->partition) return NVML_ERROR_NOT_SUPPORTED;
  *id = GPU(device)->partition->id;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t device, unsigned int *id) {
  CALLED;
  if (!GPU(device)->partition) return NVML_ERROR_NOT_SUPPORTED;
  *id = 0;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetGpuInstanceById(nvmlDevice_t device, unsigned int id, nvmlGpuInstance_t *instance) {
  CALLED;
  if (!GPU(device)->mig_mode) return NVML_ERROR_NOT_SUPPORTED;
  Instance *one = id >= 1 && id <= MAX_INSTANCES ? GPU(device)->instance[id - 1] : NULL;
  if (!one) return NVML_ERROR_NOT_FOUND;
  INSTANCE(*instance) = one;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlGpuInstanceGetInfo(nvmlGpuInstance_t instance, nvmlGpuInstanceInfo_t *info) {
  CALLED;
  Instance *one = INSTANCE(instance);
  memset(info, 0, sizeof *info);
  GPU(info->device) = one->gpu;
  info->id = one->id;
  info->profileId = one->profile->id;
  info->placement.start = one->start;
  info->placement.size = one->profile->size;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfo(nvmlDevice_t device, unsigned int index, nvmlGpuInstanceProfileInfo_t *info) {
  CALLED;
  for (int i = 0; i < GPU(device)->profiles; i++) {
    Profile *p = &GPU(device)->profile[i];
    if (p->index != (int)index) continue;
    memset(info, 0, sizeof *info);
    info->id = p->id;
    info->sliceCount = p->slices;
    info->instanceCount = p->starts;
    info->multiprocessorCount = p->sms;
    info->copyEngineCount = p->copy;
    info->decoderCount = p->decode;
    info->encoderCount = p->encode;
    info->jpegCount = p->jpeg;
    info->ofaCount = p->ofa;
    info->memorySizeMB = p->mib;
    return NVML_SUCCESS;
  }
  return NVML_ERROR_NOT_SUPPORTED;
}
nvmlReturn_t nvmlDeviceGetGpuInstancePossiblePlacements_v2(nvmlDevice_t device, unsigned int id,
                                                           nvmlGpuInstancePlacement_t *placements, unsigned int *count) {
  CALLED;
  Profile *p = profile_of_id(GPU(device), id);
  unsigned int room = *count;
  if (!p) return NVML_ERROR_INVALID_ARGUMENT;
  *count = p->starts;
  if (!placements) return NVML_SUCCESS;
  if (room < *count) return NVML_ERROR_INSUFFICIENT_SIZE;
  for (int i = 0; i < p->starts; i++) {
    placements[i].start = p->start[i];
    placements[i].size = p->size;
  }
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceCreateGpuInstanceWithPlacement(nvmlDevice_t device, unsigned int id,
                                                      const nvmlGpuInstancePlacement_t *placement, nvmlGpuInstance_t *instance) {
  CALLED;
  Profile *p = profile_of_id(GPU(device), id);
  if (!p) return NVML_ERROR_INVALID_ARGUMENT;
  Instance *made = make_instance(GPU(device), p, placement->start, -1);
  if (!made) return NVML_ERROR_INSUFFICIENT_RESOURCES;
  show_instance(made, 1);
  INSTANCE(*instance) = made;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlGpuInstanceDestroy(nvmlGpuInstance_t instance) {
  CALLED;
  Instance *one = INSTANCE(instance);
  hide(one->gpu, one->id, "access");
  one->gpu->instance[one->id - 1] = NULL; /* handles to it stay readable */
  return NVML_SUCCESS;
}

/* A GPU instance has at most one compute instance, of all its slices; its handle is the GPU instance's. */
static int compute_profile(const Instance *one) {
  static const int by_slices[] = {-1, 0, 1, 2, 3, -1, 6, 4, 5};
  return by_slices[one->profile->slices];
}
nvmlReturn_t nvmlGpuInstanceGetComputeInstanceProfileInfo(nvmlGpuInstance_t instance, unsigned int profile, unsigned int engine,
                                                          nvmlComputeInstanceProfileInfo_t *info) {
  CALLED;
  if (engine || (int)profile != compute_profile(INSTANCE(instance))) return NVML_ERROR_NOT_SUPPORTED;
  memset(info, 0, sizeof *info);
  info->id = profile;
  info->sliceCount = INSTANCE(instance)->profile->slices;
  info->instanceCount = 1;
  info->multiprocessorCount = INSTANCE(instance)->profile->sms;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlGpuInstanceCreateComputeInstance(nvmlGpuInstance_t instance, unsigned int profile, nvmlComputeInstance_t *compute) {
  CALLED;
  if ((int)profile != compute_profile(INSTANCE(instance))) return NVML_ERROR_NOT_SUPPORTED;
  show_compute(INSTANCE(instance));
  INSTANCE(*compute) = INSTANCE(instance);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlGpuInstanceGetComputeInstanceById(nvmlGpuInstance_t instance, unsigned int id, nvmlComputeInstance_t *compute) {
  CALLED;
  if (id || !INSTANCE(instance)->has_compute) return NVML_ERROR_NOT_FOUND;
  INSTANCE(*compute) = INSTANCE(instance);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlComputeInstanceGetInfo_v2(nvmlComputeInstance_t compute, nvmlComputeInstanceInfo_t *info) {
  CALLED;
  Instance *one = INSTANCE(compute);
  memset(info, 0, sizeof *info);
  GPU(info->device) = &one->handle;
  INSTANCE(info->gpuInstance) = one;
  info->profileId = compute_profile(one);
  info->placement.size = one->profile->slices;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlComputeInstanceDestroy(nvmlComputeInstance_t compute) {
  CALLED;
  INSTANCE(compute)->has_compute = 0;
  hide(INSTANCE(compute)->gpu, INSTANCE(compute)->id, "ci0/access");
  return NVML_SUCCESS;
}
