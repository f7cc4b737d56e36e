// The elements of a stack that the framework synthesises. Each holds its attributes in Node. The
// framework asks for them twice, and jsii would carry each question to Python and back.
"use strict";

const { ImportableResource, Lazy, Token, Tokenization } = require("cdktf");
const { TerraformDataSource, TerraformProvider, TerraformResource } = require("cdktf");
const { provider } = require("./package.json");

const GENERATOR = { providerName: provider.name, providerVersionConstraint: provider.version };

// A token whose text may come from anywhere: the framework numbers tokens from 0, and texts of the
// outside may look like its first ones.
class Decoy {
  creationStack = [];
  resolve() {}
}

for (let number = 0; number < 1000; number++) {
  Token.asString(new Decoy());
}

const LIST_TOKEN = /#\{TfToken\[[\w:.-]+\]\}/;
const NUMBER_TOKEN = /[-|\d.+]+e[-|\d.eE+]+/g;
const ONE_NUMBER_TOKEN = /-\d(?:\.\d+)?e\+\d{3}/g;

const MAP_TOKENS = [Token.STRING_MAP_TOKEN_VALUE, Token.ANY_MAP_TOKEN_VALUE];

// Returns the tokens that the framework sees in `text`; throws where it sees one that is none.
function tokensIn(text, list) {
  const numbers = text.match(NUMBER_TOKEN) ?? [];
  const found = [
    ...Tokenization.reverseString(text).tokens,
    ...numbers.map((number) => Tokenization.reverseNumber(parseFloat(number))),
  ];
  if (LIST_TOKEN.test(text)) {
    // Such a token is a list of one text, and stands nowhere else.
    found.push((list?.length === 1 && Tokenization.reverseList(list)) || new Decoy());
  }
  return found;
}

function isForeign(text, list) {
  try {
    return tokensIn(text, list).some((token) => token instanceof Decoy);
  } catch {
    return true;
  }
}

function isNumberToken(text) {
  try {
    const token = Tokenization.reverseNumber(parseFloat(text));
    return token !== undefined && !(token instanceof Decoy);
  } catch {
    return false;
  }
}

// Whether a number of this program stands beside a sign that the framework takes for a part of it.
function isBlurred(text) {
  return (text.match(NUMBER_TOKEN) ?? []).some((whole) =>
    (whole.match(ONE_NUMBER_TOKEN) ?? []).some((one) => one !== whole && isNumberToken(one)),
  );
}

// Whether a list of this program stands anywhere but alone: it is a list of one such text.
function isListInParts(text, list) {
  const [token] = text.match(LIST_TOKEN) ?? [];
  if (token === undefined || (list?.length === 1 && token === text)) {
    return false;
  }
  try {
    const found = Tokenization.reverseList([token]);
    return found !== undefined && !(found instanceof Decoy);
  } catch {
    return false;
  }
}

// Throws where a text in `value` looks like a token and is none of this program, or holds a number
// or a list that the framework does not see as it is: it would put another value in its place, or
// fail.
function checkTexts(name, value, list) {
  if (typeof value === "string") {
    if (isBlurred(value)) {
      throw new Error(`blurred number: ${name}`);
    }
    if (isListInParts(value, list)) {
      throw new Error(`list in parts: ${name}`);
    }
    if (MAP_TOKENS.includes(value) || isForeign(value, list)) {
      throw new Error(`no token: ${name}: ${JSON.stringify(value)}`);
    }
  } else if (value !== null && typeof value === "object") {
    const items = Array.isArray(value) ? value : undefined;
    Object.values(value).forEach((item) => checkTexts(name, item, items));
  }
  return value;
}

function parsed(attributes) {
  const found = JSON.parse(attributes);
  Object.entries(found).forEach(([name, value]) => checkTexts(name, value));
  return found;
}

// Returns `attributes` with `change` applied to those that are maps.
function withMaps(attributes, change) {
  const changed = ([name, value]) =>
    Object.getPrototypeOf(value) === Object.prototype ? [name, change(value)] : [name, value];
  return Object.fromEntries(Object.entries(attributes).map(changed));
}

// The framework guesses the notation of everything but a map.
function inHcl(attributes) {
  const noted = { type: "map", isBlock: false, storageClassType: "anyMap" };
  return withMaps(attributes, (value) => ({ value, ...noted }));
}

// In JSON, Terraform wants a reference alone where the framework writes "${reference}".
function bareReference(trigger) {
  if (!Token.isUnresolved(trigger)) {
    return trigger;
  }
  const produce = (context) => String(context.resolve(trigger)).replace(/^\$\{(.*)\}$/s, "$1");
  return Lazy.stringValue({ produce });
}

function assign(element, name, value) {
  const assigned = checkTexts(name, JSON.parse(value));
  if (assigned === null) {
    delete element.attributes[name];
  } else {
    element.attributes[name] = assigned;
  }
}

class Resource extends TerraformResource {
  constructor(scope, id, type, attributes, place, meta) {
    const config = { terraformResourceType: type, terraformGeneratorMetadata: GENERATOR };
    const declared = parsed(attributes);
    super(scope, id, { ...meta, ...config });
    this.attributes = declared;
    this.place = place;
  }

  assign(name, value) {
    assign(this, name, value);
  }

  // The framework adds a validation that runs `terraform version` for each import. Twenty imports
  // take seconds with it, and none works without Terraform.
  importFrom(id, provider) {
    this.node.addValidation = () => {};
    super.importFrom(id, provider);
    delete this.node.addValidation;
  }

  // Declares an import of which Terraform generates the resource.
  static importable(scope, id, type, importId, provider) {
    const config = { terraformResourceType: type, importId, provider };
    return new ImportableResource(scope, id, config);
  }

  toTerraform() {
    const block = super.toTerraform();
    const lifecycle = block.resource?.[this.terraformResourceType][this.friendlyUniqueId].lifecycle;
    if (lifecycle?.replace_triggered_by) {
      lifecycle.replace_triggered_by = lifecycle.replace_triggered_by.map(bareReference);
    }
    return block;
  }

  synthesizeAttributes() {
    // The place is beside the framework's metadata, to which nothing can be added.
    const noted = this.place === undefined ? {} : { "//": { stackTrace: [this.place] } };
    return { ...this.attributes, ...noted };
  }

  synthesizeHclAttributes() {
    return inHcl(this.attributes);
  }
}

class DataSource extends TerraformDataSource {
  constructor(scope, id, type, attributes, meta) {
    const config = { terraformResourceType: type, terraformGeneratorMetadata: GENERATOR };
    const declared = parsed(attributes);
    super(scope, id, { ...meta, ...config });
    this.attributes = declared;
  }

  assign(name, value) {
    assign(this, name, value);
  }

  synthesizeAttributes() {
    return this.attributes;
  }

  synthesizeHclAttributes() {
    return inHcl(this.attributes);
  }
}

class Provider extends TerraformProvider {
  constructor(scope, id, attributes, alias) {
    const declared = parsed(attributes);
    super(scope, id, {
      terraformResourceType: provider.name,
      terraformGeneratorMetadata: GENERATOR,
      terraformProviderSource: provider.source,
    });
    this.attributes = declared;
    this.chosenAlias = alias;
  }

  get alias() {
    return this.chosenAlias;
  }

  set alias(value) {
    this.chosenAlias = value;
  }

  assign(name, value) {
    assign(this, name, value);
  }

  synthesizeAttributes() {
    // The framework rewrites the keys of a plain map in a provider block to snake case.
    return withMaps(this.attributes, (value) => Token.asAny(value));
  }

  synthesizeHclAttributes() {
    return this.synthesizeAttributes();
  }
}

const { name, version } = require("./package.json");
for (const element of [Resource, DataSource, Provider]) {
  element[Symbol.for("jsii.rtti")] = { fqn: `${name}.${element.name}`, version };
  exports[element.name] = element;
}
