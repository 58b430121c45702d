/**
 * Rows of web/who-may-see.test.ts: members, the organisation, tokens. In the order stranger,
 * removed, elsewhere, viewer, member, admin, owner.
 */

const members = 'in 403 ok ok ok ok ok';
const ofOurs = 'in 403 404 ok ok ok ok';
const managersOfOurs = 'in 403 404 403 403 ok ok';
/** `elsewhere` owns the organisation that it is in. */
const owners = 'in 403 ok 403 403 403 ok';
const managers = 'in 403 ok 403 403 ok ok';

export const ofTheAccount: Readonly<Record<string, string>> = {
  'GET /members/invitations/:invitation_id/renew': 'in 403 404 403 403 404 404',
  'POST /members/invitations/:invitation_id/renew': 'in 403 404 403 403 404 404',
  'GET /members/:member_id/role': managersOfOurs,
  'POST /members/:member_id/role': managersOfOurs,
  'GET /members/:member_id/remove': managersOfOurs,
  // The first who may takes them out; after that they are no member.
  'POST /members/:member_id/remove': 'in 403 404 403 403 ok 404',
  'GET /organisations': 'in ok ok ok ok ok ok',
  'GET /organisations/new': 'in ok ok ok ok ok ok',
  // Whoever owns one here makes another.
  'POST /organisations/new': 'in 403 ok 403 403 403 ok',
  // The organisation that the form names is none of theirs.
  'POST /organisations': 'in 404 404 404 404 404 404',
  'GET /members/leave': members,
  'POST /members/leave': members,
  'GET /organisation': members,
  'GET /probes/invite': managers,
  'POST /probes/invite': managers,
  'GET /probes/invitations/:probe_invitation_id': 'in 403 404 403 403 404 404',
  'POST /probes/invitations/:probe_invitation_id/withdraw': 'in 403 404 403 403 404 404',
  'GET /probes/:probe_id/end': 'in 403 404 403 403 404 404',
  'POST /probes/:probe_id/end': 'in 403 404 403 403 404 404',
  'GET /organisation/edit': managers,
  'POST /organisation/edit': managers,
  'GET /organisation/export': managers,
  'POST /organisation/export': managers,
  'GET /organisation/sign-in': owners,
  'POST /organisation/sign-in': owners,
  // None has one.
  'POST /organisation/sign-in/check': 'in 403 409 403 403 403 409',
  'GET /organisation/sign-in/provisioning': owners,
  'POST /organisation/sign-in/provisioning': owners,
  'GET /organisation/sign-in/provisioning/end': owners,
  'POST /organisation/sign-in/provisioning/end': 'in 403 409 403 403 403 409',
  'GET /organisation/sign-in/remove': owners,
  'POST /organisation/sign-in/remove': 'in 403 409 403 403 403 409',
  'GET /organisation/delete': owners,
  // Without its name typed it stays.
  'POST /organisation/delete': owners,
  // Nobody wants it to be deleted.
  'POST /organisation/keep': 'in 403 409 403 403 403 409',
  'GET /audit': managers,
  'GET /audit.csv': managers,
  'POST /first-steps/hide': 'in 403 ok 403 ok ok ok',
  'GET /webhooks': members,
  'GET /webhooks/new': managers,
  'POST /webhooks/new': managers,
  'GET /webhooks/:webhook_id': ofOurs,
  'GET /webhooks/:webhook_id/edit': managersOfOurs,
  'POST /webhooks/:webhook_id/edit': managersOfOurs,
  'GET /webhooks/:webhook_id/secret': managersOfOurs,
  'POST /webhooks/:webhook_id/secret': managersOfOurs,
  'POST /webhooks/:webhook_id/test': managersOfOurs,
  'POST /webhooks/:webhook_id/turn-on': managersOfOurs,
  'POST /webhooks/:webhook_id/deliveries/:delivery_id/resend': managersOfOurs,
  'POST /webhooks/:webhook_id/replay': managersOfOurs,
  'GET /webhooks/:webhook_id/delete': managersOfOurs,
  'POST /webhooks/:webhook_id/delete': 'in 403 404 403 403 ok 404',
  'GET /ping-keys': managers,
  'POST /ping-keys': managers,
  'POST /ping-keys/:ping_key_id/rotate': 'in 403 404 403 403 404 404',
  'POST /ping-keys/:ping_key_id/end': 'in 403 404 403 403 404 404',
  'GET /tokens': members,
  // Everyone makes tokens of their own.
  'GET /tokens/new': members,
  'POST /tokens/new': members,
  // The owner's: seen by those who manage.
  'GET /tokens/:token_id/revoke': 'in 403 404 404 404 ok ok',
  // The first who may ends it; after that there is none.
  'POST /tokens/:token_id/revoke': 'in 403 404 404 404 ok 404',
  'GET /tokens/assistants/:connection_id/disconnect': 'in 403 404 404 404 ok ok',
  'POST /tokens/assistants/:connection_id/disconnect': 'in 403 404 404 404 ok 404',
  // Nothing asks to be connected; what does has tests of its own.
  'GET /connect/failed': 'ok ok ok ok ok ok ok',
  'GET /connect/:secret': 'in 404 404 404 404 404 404',
  'POST /connect/:secret': 'in 404 404 404 404 404 404',
};
