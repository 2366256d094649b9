"""Errors of a principal that lacks a permission, or whose authentication failed.

One leaf per wire code of Apache Kafka 4.3, in the order of the codes.
"""

from cordwood.core.errors.tree import AccessError


class TopicAuthorizationFailedError(AccessError):
    """The principal may not do this to the topic."""

    code = 29


class GroupAuthorizationFailedError(AccessError):
    """The principal may not do this to the group."""

    code = 30


class ClusterAuthorizationFailedError(AccessError):
    """The principal may not do this to the cluster."""

    code = 31


class UnsupportedSaslMechanismError(AccessError):
    """The broker does not offer this SASL mechanism.

    Remedy: choose a mechanism of `sasl.enabled.mechanisms` of the broker.
    """

    code = 33


class IllegalSaslStateError(AccessError):
    """The request does not fit the state of the SASL exchange."""

    code = 34


class TransactionalIdAuthorizationFailedError(AccessError):
    """The principal may not use the transactional id."""

    code = 53


class SecurityDisabledError(AccessError):
    """Authorization is disabled, so ACLs cannot be read or changed.

    Remedy: configure an authorizer, or do without ACLs.
    """

    code = 54


class SaslAuthenticationFailedError(AccessError):
    """The SASL credentials were rejected.

    Remedy: correct the user name and the password.
    """

    code = 58


class DelegationTokenAuthDisabledError(AccessError):
    """Delegation tokens are disabled."""

    code = 61


class DelegationTokenNotFoundError(AccessError):
    """The delegation token does not exist."""

    code = 62


class DelegationTokenOwnerMismatchError(AccessError):
    """The principal is neither owner nor renewer of the delegation token."""

    code = 63


class DelegationTokenRequestNotAllowedError(AccessError):
    """Delegation tokens may not be requested over this kind of connection."""

    code = 64


class DelegationTokenAuthorizationFailedError(AccessError):
    """The principal may not do this to the delegation token."""

    code = 65


class DelegationTokenExpiredError(AccessError):
    """The delegation token has expired.

    Remedy: create a new token.
    """

    code = 66


class TopicDeletionDisabledError(AccessError):
    """Topic deletion is disabled.

    Remedy: set `delete.topic.enable=true` on the broker.
    """

    code = 73


class UnacceptableCredentialError(AccessError):
    """The credential is weaker than the broker accepts.

    Remedy: raise the iterations of the credential.
    """

    code = 93
