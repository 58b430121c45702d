import { type Attribute, attributesOf, type Kind } from './attributes.ts';
import { schemaOf } from './filter.ts';

/** What we say of ourselves to whoever provisions (RFC 7643, sections 5 to 7). */

type Described = Readonly<Record<string, unknown>> & { readonly id: string };

const mostFound = 200;

export function providerConfig(at: string) {
  const no = { supported: false } as const;
  return {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig'],
    documentationUri: `${at.replace(/\/scim\/v2$/, '')}/docs/sign-in`,
    patch: { supported: true },
    bulk: { ...no, maxOperations: 0, maxPayloadSize: 0 },
    filter: { supported: true, maxResults: mostFound },
    changePassword: no,
    sort: no,
    etag: no,
    authenticationSchemes: [
      {
        type: 'oauthbearertoken',
        name: 'Bearer token',
        description: 'The token of the sign-in provider, as Authorization: Bearer.',
        primary: true,
      },
    ],
    meta: { resourceType: 'ServiceProviderConfig', location: `${at}/ServiceProviderConfig` },
  };
}

export function resourceTypes(at: string): readonly Described[] {
  return (['User', 'Group'] as const).map((kind) => ({
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:ResourceType'],
    id: kind,
    name: kind,
    description: kind === 'User' ? 'A person' : 'Users who have a role together',
    endpoint: `/${kind}s`,
    schema: schemaOf(kind),
    meta: { resourceType: 'ResourceType', location: `${at}/ResourceTypes/${kind}` },
  }));
}

export function schemas(at: string): readonly Described[] {
  return (['User', 'Group'] as const).map((kind) => ({
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:Schema'],
    id: schemaOf(kind),
    name: kind,
    description: kind === 'User' ? 'A person' : 'Users who have a role together',
    attributes: attributesOf[kind]
      .filter(({ common }) => common !== true)
      .map((attribute) => described(kind, attribute)),
    meta: { resourceType: 'Schema', location: `${at}/Schemas/${schemaOf(kind)}` },
  }));
}

function described(kind: Kind, attribute: Attribute): Readonly<Record<string, unknown>> {
  const { name, type, parts, mutability = 'readWrite' } = attribute;
  return {
    name,
    type,
    multiValued: attribute.many === true,
    description: name,
    required: attribute.required === true,
    caseExact: attribute.exact === true || type === 'reference',
    mutability,
    returned: 'default',
    uniqueness: attribute.unique ? 'server' : 'none',
    ...(type === 'reference' ? { referenceTypes: [kind === 'User' ? 'Group' : 'User'] } : {}),
    ...(parts === undefined ? {} : { subAttributes: parts.map((part) => described(kind, part)) }),
  };
}
