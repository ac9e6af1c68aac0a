-- Owners and the audit log.

-- An owner may also manage the merchant. Every merchant that has users gets one: the first who can sign in.
update users set role = 'owner' where role = 'user' and id = (
  select u.id from users u where u.merchant_id = users.merchant_id and u.role <> 'admin'
    order by case when u.disabled_at is null then 0 else 1 end, u.id limit 1
);
