"""Types of the compiled module; the docstrings are on the objects themselves."""

import enum
import os
from typing import (
    Any,
    Callable,
    Dict,
    List,
    Literal,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    Type,
    TypedDict,
    Union,
)

from ._schema_warning import SchemaWarning

# Anything with int32 CPU memory: a NumPy array, a torch tensor, the buffer protocol, DLPack.
_Array = Any
_Text = Union[str, bytes]
# bytes, or anything with the buffer protocol: a bytearray, a memoryview, an mmap.
_Buffer = Any
_Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
# JSON text, a dict, true or false, or a pydantic model class.
_Schema = Union[str, Dict[str, Any], bool, Type[Any]]

class VocabType(enum.Enum):
    RAW = 0
    BYTE_FALLBACK = 1
    BYTE_LEVEL = 2

class _Metadata(TypedDict):
    vocab_type: VocabType
    add_prefix_space: bool

class _Stats(TypedDict):
    seconds: float
    rules: int
    nodes: int
    states: int
    sets: int
    masks: int
    memory_bytes: int
    shortest_bytes: Optional[int]

class TokenizerInfo:
    def __init__(
        self,
        encoded_vocab: Union[Sequence[str], Sequence[bytes], Sequence[_Text]],
        vocab_type: VocabType = ...,
        *,
        vocab_size: Optional[int] = None,
        stop_token_ids: Optional[Union[List[int], int]] = None,
        add_prefix_space: bool = False,
        special_token_ids: Optional[Union[List[int], int]] = None,
    ) -> None: ...
    @staticmethod
    def from_huggingface(
        tokenizer: Any,
        *,
        vocab_size: Optional[int] = None,
        stop_token_ids: Optional[Union[List[int], int]] = None,
    ) -> TokenizerInfo: ...
    @staticmethod
    def from_tokenizer_json(
        tokenizer_json: _Text,
        *,
        vocab_size: Optional[int] = None,
        stop_token_ids: Optional[Union[List[int], int]] = None,
        special_token_ids: Optional[Union[List[int], int]] = None,
    ) -> TokenizerInfo: ...
    @staticmethod
    def from_vocab_and_metadata(
        encoded_vocab: Union[Sequence[str], Sequence[bytes], Sequence[_Text]], metadata: str
    ) -> TokenizerInfo: ...
    def save(self, path: Union[str, bytes, os.PathLike[Any]]) -> None: ...
    @staticmethod
    def load(
        path: Union[str, bytes, os.PathLike[Any]], *, mapped: bool = True
    ) -> TokenizerInfo: ...
    @staticmethod
    def _detect_metadata_from_hf(backend_str: str) -> _Metadata: ...
    def dump_metadata(self) -> str: ...
    def serialize_json(self) -> str: ...
    @staticmethod
    def deserialize_json(json_string: str) -> TokenizerInfo: ...
    def find_token(self, text: _Text) -> Optional[int]: ...
    @property
    def vocab_type(self) -> VocabType: ...
    @property
    def vocab_size(self) -> int: ...
    @property
    def add_prefix_space(self) -> bool: ...
    @property
    def prepend_space_in_tokenization(self) -> bool: ...
    @property
    def decoded_vocab(self) -> List[bytes]: ...
    @property
    def stop_token_ids(self) -> List[int]: ...
    @property
    def special_token_ids(self) -> List[int]: ...
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

class Grammar:
    @staticmethod
    def from_ebnf(ebnf_string: str, *, root_rule_name: str = "root") -> Grammar: ...
    @staticmethod
    def from_json_schema(
        schema: _Schema,
        *,
        any_whitespace: bool = True,
        indent: Optional[int] = None,
        separators: Optional[Tuple[str, str]] = None,
        strict_mode: bool = True,
        max_whitespace_cnt: Optional[int] = None,
        print_converted_ebnf: bool = False,
        any_order: bool = False,
        registry: Optional[Mapping[str, Union[str, Dict[str, Any], bool]]] = None,
        formats: Optional[Mapping[str, str]] = None,
        on_unsupported: Literal["error", "widen"] = "error",
        root_whitespace: bool = False,
    ) -> Grammar: ...
    @staticmethod
    def from_regex(regex_string: str, *, print_converted_ebnf: bool = False) -> Grammar: ...
    @staticmethod
    def from_lark(
        lark_string: str,
        *,
        tokenizer_info: Optional[TokenizerInfo] = None,
        named_grammars: Optional[Mapping[str, Union[Grammar, str]]] = None,
    ) -> Grammar: ...
    @staticmethod
    def from_structural_tag(*args: Any, **kwargs: Any) -> Grammar: ...
    @staticmethod
    def builtin_json_grammar() -> Grammar: ...
    @staticmethod
    def concat(*grammars: Grammar) -> Grammar: ...
    @staticmethod
    def union(*grammars: Grammar) -> Grammar: ...
    @property
    def warnings(self) -> List[SchemaWarning]: ...
    def serialize_json(self) -> str: ...
    @staticmethod
    def deserialize_json(json_string: str) -> Grammar: ...
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

class CompiledGrammar:
    @property
    def grammar(self) -> Grammar: ...
    @property
    def tokenizer_info(self) -> TokenizerInfo: ...
    @property
    def warnings(self) -> List[SchemaWarning]: ...
    @property
    def memory_size_bytes(self) -> int: ...
    def stats(self) -> _Stats: ...
    def precompute(
        self,
        threads: int = 1,
        *,
        max_states: Optional[int] = None,
        progress: Optional[Callable[[int, int], object]] = None,
    ) -> int: ...
    def to_bytes(self, *, masks: bool = True) -> bytes: ...
    @staticmethod
    def from_bytes(
        data: _Buffer, target: Union[GrammarCompiler, TokenizerInfo], *, trusted: bool = False
    ) -> CompiledGrammar: ...
    def save(self, path: _Path, *, masks: bool = True) -> None: ...
    @staticmethod
    def load(
        path: _Path, target: Union[GrammarCompiler, TokenizerInfo], *, trusted: bool = False
    ) -> CompiledGrammar: ...
    def serialize_json(self) -> str: ...
    @staticmethod
    def deserialize_json(json_string: str, tokenizer_info: TokenizerInfo) -> CompiledGrammar: ...
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

class GrammarCompiler:
    def __init__(
        self,
        tokenizer_info: TokenizerInfo,
        *,
        max_threads: int = 8,
        cache_enabled: bool = True,
        cache_limit_bytes: int = -1,
        limits: Optional[Mapping[str, int]] = None,
    ) -> None: ...
    def compile_json_schema(
        self,
        schema: _Schema,
        *,
        any_whitespace: bool = True,
        indent: Optional[int] = None,
        separators: Optional[Tuple[str, str]] = None,
        strict_mode: bool = True,
        max_whitespace_cnt: Optional[int] = None,
        any_order: bool = False,
        registry: Optional[Mapping[str, Union[str, Dict[str, Any], bool]]] = None,
        formats: Optional[Mapping[str, str]] = None,
        on_unsupported: Literal["error", "widen"] = "error",
        root_whitespace: bool = False,
    ) -> CompiledGrammar: ...
    def compile_builtin_json_grammar(self) -> CompiledGrammar: ...
    def compile_regex(self, regex: str) -> CompiledGrammar: ...
    def compile_grammar(
        self, grammar: Union[str, Grammar], *, root_rule_name: str = "root"
    ) -> CompiledGrammar: ...
    def compile_lark(
        self,
        lark_string: str,
        *,
        named_grammars: Optional[Mapping[str, Union[Grammar, str]]] = None,
    ) -> CompiledGrammar: ...
    def compile_structural_tag(self, *args: Any, **kwargs: Any) -> CompiledGrammar: ...
    def clear_cache(self) -> None: ...
    def get_cache_size_bytes(self) -> int: ...
    @property
    def cache_limit_bytes(self) -> int: ...
    @property
    def limits(self) -> Dict[str, int]: ...

class GrammarMatcher:
    def __init__(
        self,
        compiled_grammar: CompiledGrammar,
        *,
        override_stop_tokens: Optional[Union[List[int], int]] = None,
        terminate_without_stop_token: bool = False,
        max_rollback_tokens: int = -1,
        default_temperature: Optional[float] = None,
    ) -> None: ...
    def accept_token(self, token_id: int, *, debug_print: bool = False) -> bool: ...
    def accept_string(self, input_str: _Text, *, debug_print: bool = False) -> bool: ...
    def fill_next_token_bitmask(
        self, bitmask: _Array, index: int = 0, *, debug_print: bool = False
    ) -> bool: ...
    def find_jump_forward_string(self) -> str: ...
    def rollback(self, num_tokens: int = 1) -> None: ...
    def reset(self) -> None: ...
    def fork(self) -> GrammarMatcher: ...
    def is_terminated(self) -> bool: ...
    def is_completed(self) -> bool: ...
    def matching_prefix(self, input_str: _Text) -> int: ...
    def shortest_completion_bytes(self) -> int: ...
    def shortest_completion_after(self, token_id: int) -> Optional[int]: ...
    def traverse_draft_tree(self, *args: Any, **kwargs: Any) -> bool: ...
    def get_captures(self, *, deduplicate: bool = True) -> List[Tuple[str, bytes]]: ...
    def _debug_print_internal_state(self) -> str: ...
    @property
    def stop_token_ids(self) -> List[int]: ...
    @property
    def max_rollback_tokens(self) -> int: ...
    @property
    def temperature(self) -> Optional[float]: ...
    @property
    def compiled_grammar(self) -> CompiledGrammar: ...
    @property
    def num_steps(self) -> int: ...

class BatchGrammarMatcher:
    def __init__(self, max_threads: Union[int, Literal["auto"]] = "auto") -> None: ...
    def batch_fill_next_token_bitmask(
        self,
        matchers: List[GrammarMatcher],
        bitmask: _Array,
        indices: Optional[List[int]] = None,
        debug_print: bool = False,
    ) -> None: ...
    @staticmethod
    def batch_accept_token(
        matchers: List[GrammarMatcher], tokens: List[int], debug_print: bool = False
    ) -> List[bool]: ...
    @staticmethod
    def batch_accept_string(
        matchers: List[GrammarMatcher], strings: Sequence[_Text], debug_print: bool = False
    ) -> List[bool]: ...
    @staticmethod
    def batch_rollback(
        matchers: List[GrammarMatcher], num_tokens: Union[List[int], int] = 1
    ) -> None: ...

# (accepted tokens, accepted drafts, rows filled, terminated, error or None)
_StepResult = Tuple[int, int, int, bool, Optional[Exception]]

class StepJob:
    def done(self) -> bool: ...
    def wait(self, timeout: float = -1.0) -> bool: ...
    def results(self) -> List[_StepResult]: ...
    def times(self) -> Tuple[int, int]: ...

class StepRunner:
    def __init__(self, batch_matcher: BatchGrammarMatcher) -> None: ...
    def begin(
        self,
        matchers: List[Optional[GrammarMatcher]],
        tokens: Optional[List[Any]],
        drafts: Optional[List[Any]],
        rows: List[int],
        bitmask: _Array,
    ) -> StepJob: ...

def apply_token_bitmask_inplace_cpu(
    logits: _Array,
    bitmask: _Array,
    vocab_size: Optional[int] = None,
    indices: Optional[Sequence[int]] = None,
    vocab_offset: int = 0,
) -> None: ...
def apply_token_bitmask_cuda(
    logits: _Array,
    bitmask: _Array,
    vocab_size: Optional[int] = None,
    vocab_offset: int = 0,
    indices: Any = None,
    stream: Optional[int] = None,
    out: Optional[_Array] = None,
) -> None: ...
def cpu_isa() -> str: ...
def cuda_image_size() -> int: ...
def cuda_prepare(device: int) -> None: ...
def masked_argmax_cpu(
    logits: _Array,
    bitmask: _Array,
    vocab_size: Optional[int] = None,
    vocab_offset: int = 0,
    indices: Optional[Sequence[int]] = None,
) -> Tuple[_Array, _Array]: ...
def masked_argmax_cuda(
    logits: _Array,
    bitmask: _Array,
    tokens: _Array,
    values: _Array,
    vocab_size: Optional[int] = None,
    vocab_offset: int = 0,
    indices: Any = None,
    stream: Optional[int] = None,
) -> None: ...
def masked_sample_cpu(
    logits: _Array,
    bitmask: _Array,
    seed: Any,
    offset: Any = 0,
    temperature: Any = 1.0,
    top_k: Any = 0,
    top_p: Any = 1.0,
    min_p: Any = 0.0,
    vocab_size: Optional[int] = None,
    indices: Optional[Sequence[int]] = None,
) -> _Array: ...
def masked_sample_cuda(
    logits: _Array,
    bitmask: _Array,
    tokens: _Array,
    seed: Any,
    offset: Any,
    temperature: Any,
    top_k: Any,
    top_p: Any,
    min_p: Any,
    vocab_size: Optional[int] = None,
    indices: Any = None,
    stream: Optional[int] = None,
) -> None: ...
def sampling_parameters(
    rows: int,
    seed: Any,
    offset: Any = 0,
    temperature: Any = 1.0,
    top_k: Any = 0,
    top_p: Any = 1.0,
    min_p: Any = 0.0,
) -> Dict[str, Any]: ...
def sampling_uniforms(seed: Any, offset: Any, row_indices: Sequence[int]) -> _Array: ...
def get_bitmask_size(vocab_size: int) -> int: ...
def get_serialization_version() -> str: ...
def _meet_array(array: _Array) -> None: ...
def _describe_tensor(array: _Array, route: str = "auto") -> Dict[str, Any]: ...
