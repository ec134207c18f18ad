// Writes ecma_cases.json: patterns, and what the ECMA-262 engine of Node.js says of texts.
//
// Usage: node tests/data/regex/make_ecma_cases.mjs > tests/data/regex/ecma_cases.json
//
// "random": [pattern, flags, search, whole]. The texts are all those over `alphabet` of up to
// `length` characters, shorter ones first, then in the order of the alphabet; `search` says which
// of them the pattern is found in, `whole` which it matches from end to end: four texts to a hex
// digit, the first text in the highest bit.
// "listed": [pattern, flags, texts, search, whole], the last two as above.
// Patterns are compiled with the u flag, and without it where that refuses them (annex B), unless
// they ignore case, which is not the same without u.

let seed = 20240607;
function below(n) {  // mulberry32
  seed = (seed + 0x6D2B79F5) | 0;
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) % n;
}
const pick = (list) => list[below(list.length)];

function compile(pattern, flags) {
  try {
    return new RegExp(pattern, flags + 'u');
  } catch (error) {
    if (flags.includes('i')) return null;
    return new RegExp(pattern, flags);
  }
}
function bits(texts, re) {  // with the y flag a match must begin at the start
  let hex = '', digit = 0;
  texts.forEach((text, i) => {
    re.lastIndex = 0;
    digit = digit * 2 + (re.test(text) ? 1 : 0);
    if (i % 4 === 3) { hex += digit.toString(16); digit = 0; }
  });
  const rest = texts.length % 4;
  return rest === 0 ? hex : hex + (digit << (4 - rest)).toString(16);
}
function verdicts(pattern, flags, texts) {
  const whole = `(?:${pattern})(?![^])`;
  return [bits(texts, compile(pattern, flags)), bits(texts, compile(whole, flags + 'y'))];
}

// ---- Random patterns ----

const alphabet = 'ab-\n', length = 4;
const universe = [''];
for (let from = 0; from < universe.length && universe[from].length < length; ++from) {
  for (const c of alphabet) universe.push(universe[from] + c);
}

const leaf = () => pick(['a', 'b', '-', 'ab', 'ba', '.', '\\w', '\\W', '[ab]', '[^a]', '\\n',
  '\\s', '[a-]', 'a', 'b']);
const quantifier = () => pick(['*', '+', '?', '{2}', '{1,2}', '{0,3}', '{2,}', '*?', '+?', '??']);
const simple = () => pick(['^', '$', '\\b', '\\B', '(?=a)', '(?!a)', '(?<=a)', '(?<!a)', '(?!\\w)',
  '(?<=\\w)', '(?=$)', '(?<!^)']);

function make(depth, looks) {
  if (depth === 0) return leaf();
  switch (below(looks ? 10 : 7)) {
    case 0: return leaf();
    case 1: case 2: case 3: return make(depth - 1, looks) + make(depth - 1, looks);
    case 4: return `(?:${make(depth - 1, looks)}|${make(depth - 1, looks)})`;
    case 5: return `(${make(depth - 1, looks)})${quantifier()}`;
    case 6: return `(?:${make(depth - 1, looks)}|)`;
    case 7: case 8: return make(depth - 1, looks) + simple() + make(depth - 1, looks);
    default: return pick(['(?=', '(?!', '(?<=', '(?<!']) + make(depth - 1, looks) + ')';
  }
}

const random = [];
const seen = new Set();
while (random.length < 900) {
  const group = Math.floor(random.length / 300);
  const pattern = make(2 + below(group === 0 ? 3 : 4), group > 0);
  const flags = pick(['', '', '', 'm', 's']);
  if (seen.has(pattern) || pattern.length > 70) continue;
  seen.add(pattern);
  const [search, whole] = verdicts(pattern, flags, universe);
  // Patterns that say nothing are many; keep few of them.
  const dull = (hex) => /^(0+|f+[0-9a-f]?)$/.test(hex);
  if (dull(search) && dull(whole) && below(8)) continue;
  random.push([pattern, flags, search, whole]);
}

// ---- Listed patterns ----

const split = (text) => text.trim().split(/\n| {3}/);
const words = [
  '', 'a', 'A', 'z', '_', '-', '1', '42', 'foo', 'Foo', 'FOO', 'foobar', 'foo bar', 'bar foo',
  'a-b', 'a--b', '-a', 'a-', '\x0A', 'a\x0Ab', '\x0D', '\u{2028}', '\xE9', '\xC9', '\xDF',
  '\u{1E9E}', '\u{17F}', 's', '\u{212A}', 'k', 'K', '\u{1F600}', '\u{10400}', '\u{10428}',
  '\u{65E5}\u{672C}', '\u{2126}', '\u{3A9}', '\u{3C9}', ' ', '\x09', '\xA0', '\u{FEFF}', '\x00',
  '\x08', '\\', ']', '[', '{', '}', 'a{', 'a{,3}', 'a{1', '^', '$', '.', '/',
];
const strings = [
  '', 'a@b.co', 'a@b', 'user.name+tag@example.com', '2024-01-31', '2024-1-31', '12:30', '24:00',
  '192.168.0.1', '256.1.1.1', '1.2.3', 'v1.2.3', '1.0.0-alpha.1', 'Passw0rd', 'password',
  'PASSWORD1', 'aA1!aaaa', 'abc', 'abcabc', 'aab', 'abab', 'foo.js', 'foo.test.js', 'foo.min.js',
  'http://x.y', 'https://example.com/a?b=c', 'ftp://x', 'a/b', '/a', 'a//b', '../x', 'con', 'con1',
  'aux', 'xaux', 'hello world', 'the cat', 'cat', 'concat', 'cat.', '#fff', '#FFFFFF', '#ggg', '00',
  '0', '01', '-1', '1e5', '$1.00', '$100', 'x$100', '100px', '100%', 'a,b', 'a,,b', 'a,b,', '"q"',
  'it\'s', 'a_b', '__a', 'xn--a', 'x--a', 'AB12', 'AB-12', 'ab-c-d', 'ab-c-', 'FooBar', 'fooBar',
  'foo_bar', 'f\u{1F600}', 'l\xEDnea', 'end\x0A', '\x0Aend', 'a\x0Ab\x0Ac',
];

const syntax = split(String.raw`
.   ^.$   [^]   []   [^\n]   \d   \D   \w   \W   \s   \S   [\d_]   [\w-]   [\w-a]   [a-\d]   [\b]
[\-a]   [a\]]   [[]   [^[]   ]   {   }   a{   a{,3}   a{1   {a}   \-   \_   \/   \"   \{   \0
\x41   \u0041   \u{41}   \u{1F600}   \uD83D\uDE00   [\uD83D\uDE00]   [\u{1F600}-\u{1F64F}]
[^\uD800-\uDFFF]   \cJ   [\cJ]   \t   \v   \f   \r   \n   \07   \012   \101   \1   \8   [\101]
[\0-\x1f]   \p{L}   \P{L}   \p{Lu}   \p{Uppercase_Letter}   \p{gc=Ll}   \p{General_Category=Nd}
\p{Script=Latin}   \p{sc=Grek}   \p{scx=Han}   \p{Script_Extensions=Greek}   \p{Emoji}
\p{Alphabetic}   \p{ASCII}   \p{Any}   \p{Assigned}   \p{White_Space}   \p{ID_Start}   [\p{L}\d]
[^\p{L}]   [\P{L}]   (?<name>a)   (?<$_é>a)   (?:a|b)   ()   (|a)   a||b   [a&&b]   [&]   (?=)
(?!)   (?=a)*b   (?!a)?b   (?=a){3}a   \b   \B   ^   $   ^$   a|^$   ^a|b$   (^|-)a   a($|-)
(^a)   (a$)   a^   $a   a$b   (?:^|\n)b   ^-?$   [^\W_]   [\s\S]   [\S\n]   [--a]   [a-]   [-a]
[+--]   a.b   .\n.   ^.*$   a(?:)b
`);

const caseless = split(String.raw`
k   [k]   [^k]   \u212a   s   \u017f   ß   \u1e9e   Ω   \u2126   \u{10400}   [a-z]   [^a-z]
[A-Z]   [_-a]   \w   \W   [\W]   [^\w]   \p{Lu}   \P{Lu}   [^\p{Lu}]   [^\P{Lu}]   \bfoo   FOO
[é]   \b.\b   f(?:O|o)+
`);

const assertions = split(String.raw`
^[^@]+@[^@]+\.[a-z]+$   ^(?=.*[A-Z])(?=.*\d).{8,}$   ^(?=.*[a-z])(?=.*[A-Z])(?=.*\d)(?=.*\W)
^(?!.*--)[a-z](?:[a-z-]*[a-z])?$   ^(?!con$|aux$)\w+$   ^(?!(?:con|aux)\b)   ^(?:(?!foo).)*$
(?<!\.test)\.js$   (?<!\.(?:test|min))\.js$   ^.*(?<!\.js)$   \.(?!js$)[^.]+$   \bcat\b   \Bcat
cat\B   (?<=\$)\d+   (?<!\$)\b\d+   \d+(?=px|%)   \d+(?!px)   ^\d{4}-(?:0[1-9]|1[0-2])-\d\d$
^(?:[01]\d|2[0-3]):[0-5]\d$   ^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$
^#(?:[0-9a-f]{3}){1,2}$   ^(?!.*,,)(?!.*,$)[^,]+(?:,[^,]+)*$   ^(?:[^,]+(?:,(?!$|,)|$))+$
^[a-z\d](?:[a-z\d]|-(?=[a-z\d])){0,38}$   ^(?:[a-z]|-(?!-))+$   ^(?!xn--)   (?:^|/)\.\.(?:/|$)
^(?!/)(?:[^/]|/(?!/))*$   (?<=^|,)[^,]*(?=,|$)   ^(?=[^_]*_[^_]*$)   (?:(?<=a)b|(?<!a)c)+$
(?<=(?<!a)b)c?   (?<=a(?=b))b   (?=a(?<=^a))   (?<=\bthe )cat\b   (?<=\w\b)\x20
^(?=(?:(?!b).)*$)a   (?!^)[A-Z]   (?:\b\w+\b ?)+$   ^(?:\b[a-z]+\b[^a-z]*)*$   (?<!.)a|c(?!.)
(?<![^,])b(?![^,])   ^(?:(?=a)a|(?!a)[b-z])+$   (?=.*\.)(?!.*\.\.)[\w.]+$   (?:a(?=b)|b(?<=ab))+
^(?:a(?!a)|b(?!b))*$   ^(?:(?<!a)a|(?<!b)b)*$   (?=(?=.*b).*a)   (?!(?!a))   (?<!(?<!a)b)$
(?<=^.{3})b   ^.{2}(?<=ab)   (?:(?=[a-m])\w)+(?![a-m])   \b(?:(?!cat)\w)+\b   (?<=(?:^|\n)b)\n
(?:^b$\n?)   ^(?=\S)[^]*\S$(?<!,)
`);

const rows = [
  ...syntax.flatMap((p) => ['', 'i', 's', 'm'].map((f) => [p, f, 'words', words])),
  ...caseless.map((p) => [p, 'i', 'words', words]),
  ...assertions.flatMap((p) => ['', 'i', 'm'].map((f) => [p, f, 'strings', strings])),
];
const listed = rows.filter(([pattern, flags]) => compile(pattern, flags) !== null)
  .map(([pattern, flags, name, texts]) =>
    [pattern, flags, name, ...verdicts(pattern, flags, texts)]);

const lines = (list) => list.map((r) => '  ' + JSON.stringify(r)).join(',\n');
process.stdout.write(`{"unicode": ${JSON.stringify(process.versions.unicode)},
"alphabet": ${JSON.stringify(alphabet)}, "length": ${length},
"words": ${JSON.stringify(words)},
"strings": ${JSON.stringify(strings)},
"listed": [
${lines(listed)}
],
"random": [
${lines(random)}
]}
`);
