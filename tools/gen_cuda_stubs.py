#!/usr/bin/env python3
"""Reads the vendor's headers and exported names, and api.def, and writes what the drop-in libraries need besides their
hand-written bodies: stubs for every public function that is not covered, the per-thread-default-stream variants, the
linker version scripts, the table behind cuGetProcAddress, the names of the errors, and the rows of the coverage table.

CUDA 12's libraries are CUDA 13's with what api_12.def says is otherwise; nothing of CUDA 12 needs to be here.

  gen_cuda_stubs.py --cuda /usr/local/cuda --api wharf/cudashim/api.def --api-12 wharf/cudashim/api_12.def
                    --out build/…/generated [--cxx g++] [--sysroot /]
"""
import argparse
import glob
import os
import re
import subprocess
import sys

class Library:
    """One of the vendor's libraries, of CUDA 13 and, if it has another name there, of CUDA 12."""

    def __init__(self, name, file, headers, not_supported, version_node='{0}', define='', headers_12=(),
                 optional=False, older=0):
        self.name = name                    # in api.def
        self.file = file                    # under the toolkit's library folder; '{}': the release, less `older`
        self.older = older
        self.headers = headers
        self.not_supported = not_supported  # what a stub returns
        self.version_node = version_node    # of the symbols; '{0}': the file's name
        self.define = define                # with it the headers declare every function under its exported name
        self.optional = optional            # no part of the toolkit: left out where it is not beside it
        self.headers_12 = headers_12        # ours, of functions that CUDA 12 has otherwise and that have variants

    def file_of(self, release):
        return self.file.format(release - self.older)


LIBRARIES = [
    Library('cudart', 'libcudart.so.{}', ['cuda_runtime_api.h', 'cuda_profiler_api.h'], 801,
            headers_12=['wharf/cudashim/cudart/cuda_12.h']),
    Library('cuda', 'stubs/libcuda.so', ['cuda.h', 'cudaProfiler.h'], 801, version_node='',
            define='__CUDA_API_VERSION_INTERNAL'),
    Library('cublas', 'libcublas.so.{}', ['cublas_v2.h', 'cublasXt.h'], 15),
    Library('cublasLt', 'libcublasLt.so.{}', ['cublasLt.h'], 15),
    Library('cudnn', 'libcudnn.so.9', ['cudnn.h'], 3000, optional=True),
    Library('cufft', 'libcufft.so.{}', ['cufft.h', 'cufftXt.h'], 16, optional=True, older=1),
    Library('cusolver', 'libcusolver.so.{}', ['cusolverDn.h', 'cusolverSp.h', 'cusolverSp_LOWLEVEL_PREVIEW.h', 'cusolverRf.h'],
            9, optional=True, older=1),
    Library('cusparse', 'libcusparse.so.12', ['cusparse.h'], 10, optional=True),
    Library('curand', 'libcurand.so.10', ['curand.h'], 999, optional=True),
]

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..')

# Sentences that programs are used to; the others are made from the errors' names.
SENTENCES = {
    0: 'no error', 1: 'invalid argument', 2: 'out of memory', 3: 'initialization error', 4: 'driver shutting down',
    9: 'invalid configuration argument', 13: 'invalid device symbol', 98: 'invalid device function',
    100: 'no CUDA-capable device is detected', 101: 'invalid device ordinal', 400: 'invalid resource handle',
    500: 'named symbol not found', 600: 'device not ready', 700: 'an illegal memory access was encountered',
    701: 'too many resources requested for launch', 719: 'unspecified launch failure',
    801: 'operation not supported', 999: 'unknown error',
}


def find_library(cuda, name):
    for folder in ('lib64', 'lib', 'targets/x86_64-linux/lib'):
        path = os.path.join(cuda, folder, name)
        if os.path.exists(path):
            return path
    return None


def exported(path):
    output = subprocess.run(['nm', '-D', '--defined-only', path], check=True, capture_output=True, text=True).stdout
    names = (line.split() for line in output.splitlines())
    return sorted({parts[2].split('@')[0] for parts in names if len(parts) == 3 and parts[1] in 'TW'})


def covered_rows(path):
    text = open(path).read()
    pattern = r'^WHARF_CALL\((\w+), (\w+), (\w+), "([^"]*)"\)'
    return [match.groups() for match in re.finditer(pattern, text, re.M)]


class Differences:
    """What api_12.def says of one library."""

    def __init__(self, path, library):
        text = open(path).read()
        rows = re.findall(rf'^WHARF_12_(\w+)\({library}, (\w+)(?:, (\w+))?\)', text, re.M)
        self.renamed = {name: row for kind, name, row in rows if kind == 'RENAMES'}
        self.own = {name: row for kind, name, row in rows if kind == 'OWN'}
        self.refused = {name for kind, name, _ in rows if kind == 'REFUSES'}
        self.lacking = {name for kind, name, _ in rows if kind == 'LACKS'}

    def names(self, names_13):
        """What CUDA 12's library exports."""
        unknown = (set(self.renamed.values()) | set(self.own.values())) - set(names_13)
        if unknown:
            sys.exit(f'gen_cuda_stubs: CUDA 13 does not export {sorted(unknown)}: mend api_12.def')
        names = {name for name in names_13 if re.sub(VARIANT, '', name) not in self.lacking} | self.refused
        for name, row in (self.renamed | self.own).items():
            names.add(name)
            names |= {name + suffix for suffix in ('_ptsz', '_ptds') if row + suffix in names_13}
        return sorted(names)

    def covered(self, covered_13):
        """name -> the row of api.def that it is counted as."""
        rows = self.renamed | self.own
        return {name: name for name in covered_13 if name not in rows and name not in self.lacking} | rows

    def macros(self):
        """CUDA 13's names -> those that its functions have in CUDA 12's library."""
        macros = {row: f'{row}_of_13' for name, row in self.own.items() if name == row}
        return macros | {row: name for name, row in self.renamed.items()}


VARIANT = r'_(ptsz|ptds)$'  # for the per-thread default stream


def prototypes(compiler, cuda, library, preamble=''):
    """name -> (return type, parameters) of every function the headers declare."""
    source = preamble + ''.join(f'#include <{header}>\n' for header in library.headers)
    if preamble:
        source += ''.join(f'#include "{header}"\n' for header in library.headers_12)
    if library.define:
        source = f'#define {library.define}\n' + source
    text = subprocess.run([*compiler, '-E', '-P', '-x', 'c', '-I', os.path.join(cuda, 'include'), '-I', ROOT, '-'],
                          input=source, check=True, capture_output=True, text=True).stdout
    text = re.sub(r'__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)', ' ', text)
    found = {}
    for match in re.finditer(r'([\w\s*]+?)\b((?:cu|__cuda)\w+)\s*\(([^;{}]*?)\)\s*;', text):
        result = ' '.join(word for word in match[1].split() if word not in ('extern', '__inline__', 'static'))
        if result and not result.endswith(('return', 'typedef', '=')):
            found.setdefault(match[2], (result, ' '.join(match[3].split())))
    return found


def argument_names(parameters):
    if parameters in ('', 'void'):
        return []
    return [re.search(r'(\w+)\s*(\[\d*\])?$', part.strip())[1] for part in parameters.split(',')]


def write(path, text):
    """Only when it changes, so that nothing is compiled again for nothing."""
    if os.path.exists(path) and open(path).read() == text:
        return
    with open(path, 'w') as file:
        file.write(text)


HEADER = '// Generated by tools/gen_cuda_stubs.py from the vendor\'s headers and libraries. Do not edit.\n'


def stubs(library, names, protos):
    lines = [HEADER, '#include "wharf/cudashim/client/call.h"\n', 'namespace {']
    remember = {'cudart': ' wharf::client::SetLastError(wharf::client::CudaError{801});',
                'cudnn': ' wharf::cudashim::RememberUnsupported(name);'}.get(library.name, '')
    if library.name == 'cudnn':
        lines.insert(2, 'namespace wharf::cudashim {\nvoid RememberUnsupported(const char* function);\n}\n')
    lines += ['long NotSupported(const char* name) {', '  wharf::client::ReportUnsupported(name);' + remember,
              f'  return {library.not_supported};', '}', '}  // namespace', '', 'extern "C" {', '#define STUB(name) \\',
              '  WHARF_CLIENT_API long name(); \\', '  long name() { return NotSupported(#name); }',
              '#define NULL_STUB(name) \\', '  WHARF_CLIENT_API void* name(); \\',
              '  void* name() { NotSupported(#name); return nullptr; }']
    for name in names:
        returns_pointer = protos.get(name, ('', ''))[0].endswith('*')
        lines.append(f'{"NULL_STUB" if returns_pointer else "STUB"}({name})')
    return '\n'.join(lines + ['}  // extern "C"', ''])


def variants(library, pairs, protos, own_headers):
    """The _ptsz and _ptds entry points of covered functions."""
    lines = [HEADER] + ([f'#define {library.define}'] if library.define else [])
    lines += [f'#include <{header}>' for header in library.headers] + ['']
    lines += [f'#include "{header}"' for header in ('wharf/cudashim/client/call.h', *own_headers)] + ['', 'extern "C" {']
    for name, base in pairs:
        result, parameters = protos[base]
        arguments = ', '.join(argument_names(parameters))
        lines += [f'WHARF_CLIENT_API {result} {name}({parameters});', f'{result} {name}({parameters}) {{',
                  '  const wharf::client::PerThreadDefaultStream scope;', f'  return {base}({arguments});', '}']
    return '\n'.join(lines + ['}  // extern "C"', ''])


def version_script(node, names):
    body = ''.join(f'    {name};\n' for name in names)
    return f'{node} {{\n  global:\n{body}  local:\n    *;\n}};\n'.lstrip()


def entry_points(cuda, names):
    """Rows (base name, version it appeared in, ptsz?, symbol): what cuGetProcAddress chooses from."""
    headers = sorted(glob.glob(os.path.join(cuda, 'include', 'cuda*Typedefs.h')))  # the profiler has one of its own
    text = ''.join(open(header).read() for header in headers)
    versions = {}
    for match in re.finditer(r'PFN_(cu\w+?)_v(\d+)(?:_(ptsz|ptds))?\)', text):
        versions.setdefault(match[1], set()).add(int(match[2]))
    exports = set(names)
    rows = []
    for base in sorted(versions):
        for index, version in enumerate(sorted(versions[base])):
            symbol = base if index == 0 else f'{base}_v{index + 1}'
            if symbol not in exports:
                symbol = base
            if symbol not in exports:
                continue
            rows.append((base, version, 0, symbol))
            for suffix in ('_ptsz', '_ptds'):
                if symbol + suffix in exports:
                    rows.append((base, version, 1, symbol + suffix))
    lines = [HEADER, '#include "wharf/cudashim/cuda/entry_points.h"', '', 'extern "C" {']
    lines += [f'void {symbol}();' for symbol in sorted({row[3] for row in rows})]
    lines += ['}', '', 'namespace wharf::cudashim {', 'const EntryPoint kEntryPoints[] = {']
    lines += [f'    {{"{base}", {version}, {"true" if ptsz else "false"}, &::{symbol}}},' for base, version, ptsz, symbol
              in rows]
    return '\n'.join(lines + ['};', f'const unsigned kEntryPointCount = {len(rows)};', '}  // namespace wharf::cudashim',
                              ''])


def words(name):
    return re.sub(r'(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])', ' ', name).lower()


def error_names(cuda):
    runtime, driver = {}, {}
    text = open(os.path.join(cuda, 'include', 'driver_types.h')).read()
    block = re.search(r'enum __device_builtin__ cudaError\s*\{(.*?)\n\s*\};', text, re.S)[1]
    for match in re.finditer(r'^\s*(cudaError\w*|cudaSuccess)\s*=\s*(\d+)', block, re.M):
        runtime.setdefault(int(match[2]), match[1])
    text = open(os.path.join(cuda, 'include', 'cuda.h')).read()
    block = re.search(r'typedef enum cudaError_enum \{(.*?)\} CUresult;', text, re.S)[1]
    for match in re.finditer(r'^\s*(CUDA_\w+)\s*=\s*(\d+)', block, re.M):
        driver.setdefault(int(match[2]), match[1])
    lines = []
    for number in sorted(set(runtime) | set(driver)):
        first, second = runtime.get(number), driver.get(number)
        plain = words(first[len('cudaError'):]) if first and number else (second or '').lower().replace('_', ' ')
        plain = SENTENCES.get(number, plain.replace('cuda error ', ''))
        quoted = [f'"{name}"' if name else 'nullptr' for name in (first, second)]
        lines.append(f'{{{number}, {quoted[0]}, {quoted[1]}, "{plain}"}},')
    return '\n'.join(lines) + '\n'


def write_library(out, library, suffix, node, names, covered, protos, own_headers):
    """The generated sources of one drop-in library, which exports `names`. Returns rows of the coverage table:
    (name, the row of api.def that it is counted as or None) of what has no row of its own."""
    pairs, bare, rows = [], [], []
    for name in names:
        base = re.sub(VARIANT, '', name)
        if name in covered:
            if covered[name] != name:
                rows.append((name, covered[name]))
        elif base != name and base in covered and base in protos:
            pairs.append((name, base))
            rows.append((name, covered[base]))
        else:
            bare.append(name)
            rows.append((name, None))
    write(os.path.join(out, f'stubs_{library.name}{suffix}.cc'), stubs(library, bare, protos))
    write(os.path.join(out, f'variants_{library.name}{suffix}.cc'), variants(library, pairs, protos, own_headers))
    write(os.path.join(out, f'{library.name}{suffix}.map'), version_script(node, names))
    return rows


def main():
    parser = argparse.ArgumentParser()
    for option in ('--cuda', '--api', '--api-12', '--out'):
        parser.add_argument(option, required=True)
    parser.add_argument('--cxx', default='g++')
    parser.add_argument('--sysroot')
    options = parser.parse_args()
    compiler = [options.cxx, *([f'--sysroot={options.sysroot}'] if options.sysroot else [])]
    os.makedirs(options.out, exist_ok=True)
    rows = covered_rows(options.api)
    table = []
    for library in LIBRARIES:
        file = library.file_of(13)
        path = find_library(options.cuda, file)
        if path is None and library.optional:
            continue
        if path is None:
            sys.exit(f'gen_cuda_stubs: {file} is not under {options.cuda}')
        names = exported(path)
        covered = {row[1]: row[1] for row in rows if row[0] == library.name}
        unknown = set(covered) - set(names)
        if unknown:
            sys.exit(f'gen_cuda_stubs: {library.name} does not export {sorted(unknown)}: mend api.def')
        protos = prototypes(compiler, options.cuda, library)
        node = library.version_node.format(file)
        found = write_library(options.out, library, '', node, names, covered, protos, ())
        if library.name == 'cuda':
            write(os.path.join(options.out, 'entry_points.cc'), entry_points(options.cuda, names))
        if library.name not in ('cuda', 'cudnn', 'curand', 'cusparse'):  # these are one library for all releases
            differences = Differences(options.api_12, library.name)
            macros = ''.join(f'#define {name} {renamed}\n' for name, renamed in sorted(differences.macros().items()))
            write(os.path.join(options.out, f'names_{library.name}_12.h'), HEADER + macros)
            protos = prototypes(compiler, options.cuda, library, macros or '\n')
            found_12 = write_library(options.out, library, '_12', library.file_of(12), differences.names(names),
                                     differences.covered(covered), protos, library.headers_12)
            found += [row for row in found_12 if row[0] not in names]
        for name, base in sorted(found):
            quoted = f'"{base}"' if base else 'nullptr'
            table.append(f'{{"{library.name}", "{name}", {quoted}}},')
    write(os.path.join(options.out, 'error_names.inc'), error_names(options.cuda))
    write(os.path.join(options.out, 'vendor_names.inc'), '\n'.join(table) + '\n')


main()
