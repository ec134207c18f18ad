// Compares cpp/grammar/unicode_tables.cc with the Unicode data inside Node.js (ICU).
//
// Usage: node tests/data/regex/check_unicode_tables.mjs cpp/grammar/unicode_tables.cc
// Needs a Node.js whose process.versions.unicode is the version that the tables name. Prints one
// line for each difference, and exits with 1 when there is any.
import { readFileSync } from 'node:fs';

const source = readFileSync(process.argv[2], 'utf8');
function rows(table) {
  const body = source.split(` ${table}[] = {`)[1].split('\n};')[0];
  return [...body.matchAll(/\{([^{}]*)\}/g)].map((m) => m[1].split(',').map((x) =>
    x.startsWith('"') ? x.slice(1, -1) : Number(x)));
}
const ranges = rows('kRanges'), slices = rows('kSlices');
const set = (slice) => ranges.slice(slices[slice][0], slices[slice][0] + slices[slice][1]);

const scalars = [];
for (let c = 0; c < 0x110000; ++c) {
  if (c < 0xD800 || c > 0xDFFF) scalars.push(String.fromCodePoint(c));
}

let differences = 0, compared = 0;
function compare(name, slice) {
  let re;
  try {
    re = new RegExp(`^\\p{${name}}$`, 'u');
  } catch {
    return false;
  }
  const members = new Set();
  for (const [lo, hi] of set(slice)) for (let c = lo; c <= hi; ++c) members.add(c);
  const wrong = scalars.filter((s) => re.test(s) !== members.has(s.codePointAt(0)));
  ++compared;
  if (wrong.length > 0) {
    ++differences;
    console.log(name, wrong.length, wrong.slice(0, 5).map((s) => s.codePointAt(0).toString(16)));
  }
  return true;
}

const capital = (s) => s[0].toUpperCase() + s.slice(1);
for (const [key, slice] of rows('kCategories')) {
  if (key.length <= 2) compare(key === 'lc' ? 'LC' : capital(key), slice);
}
const script = new URL('../../../scripts/make_unicode_tables.py', import.meta.url);
const generator = readFileSync(script, 'utf8');
const binaries = new Map(rows('kBinaries'));
const names = generator.split('BINARY = """')[1].split('"""')[0].split(/[\s,]+/).filter(Boolean);
for (const name of [...names, 'Any', 'Assigned', 'ASCII', 'Changes_When_NFKC_Casefolded']) {
  const slice = binaries.get(name.toLowerCase().replaceAll('_', ''));
  if (slice === undefined || !compare(name, slice)) {
    ++differences;
    console.log(name, 'is missing on one side');
  }
}
for (const [key, own, extensions] of rows('kScripts')) {
  if (key.length !== 4) continue;
  compare(`Script=${capital(key)}`, own);
  compare(`Script_Extensions=${capital(key)}`, extensions);
}

// Case folding: two characters fold alike exactly when /iu says that one matches the other. The
// candidates for a character are those that share a mapping with it.
const fold = new Map();
for (const [lo, hi, stride, delta] of rows('kFolds')) {
  for (let c = lo; c <= hi; c += stride) fold.set(c, c + delta);
}
const folded = (c) => fold.get(c) ?? c;
const candidates = new Map();
for (const s of scalars) {
  for (const key of new Set([s, s.toLowerCase(), s.toUpperCase(), s.toUpperCase().toLowerCase(),
    String.fromCodePoint(folded(s.codePointAt(0)))])) {
    if (!candidates.has(key)) candidates.set(key, []);
    candidates.get(key).push(s);
  }
}
for (const group of candidates.values()) {
  for (const a of group) {
    for (const b of group) {
      const same = new RegExp(`^\\u{${a.codePointAt(0).toString(16)}}$`, 'iu').test(b);
      if (same !== (folded(a.codePointAt(0)) === folded(b.codePointAt(0)))) {
        ++differences;
        console.log('case', a.codePointAt(0).toString(16), b.codePointAt(0).toString(16), same);
      }
    }
  }
}
const version = process.versions.unicode;
console.log(`Unicode ${version}: ${compared} properties, ${differences} differences`);
process.exit(differences === 0 ? 0 : 1);
